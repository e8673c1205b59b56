import { inflateRawSync } from 'node:zlib';
import { buildZip } from '../support/archive/zipBuilder.ts';
import {
  type Forgery,
  forgeBytes,
  forgeLines,
  otherBytes,
  otherText,
  pick,
  type Random,
  sha256,
} from './forgery.ts';
import { forgeJson } from './json.ts';

export interface Entry {
  name: string;
  data: Buffer;
}

/** A ZIP, and the files that it was made to hold. */
export interface Zipped {
  bytes: Buffer;
  entries: readonly Entry[];
  /** Whether the headers say just that. */
  isPlain: boolean;
}

/** Reads a ZIP that this project wrote. */
export function entriesOf(zip: Buffer): Entry[] {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = zip.readUInt32LE(end + 16);
  return Array.from({ length: zip.readUInt16LE(end + 10) }, () => {
    const [method, packed] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
    const [nameLength, extraLength] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    const offset = zip.readUInt32LE(at + 42);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    at += 46 + nameLength + extraLength + zip.readUInt16LE(at + 32);
    const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28);
    const raw = zip.subarray(start, start + packed);
    return { name, data: method === 8 ? inflateRawSync(raw) : Buffer.from(raw) };
  });
}

export function zipped(entries: readonly Entry[]): Zipped {
  return { bytes: buildZip(entries.map(({ name, data }) => ({ name, data }))), entries, isPlain: true };
}

/** The fields of both headers, and those of the end: where, how long, and whether a reader may ignore them. */
const LOCAL: [name: string, at: number, bytes: number][] = [
  ['signature', 0, 4],
  ['version', 4, 2],
  ['flags', 6, 2],
  ['method', 8, 2],
  ['time', 10, 4],
  ['crc', 14, 4],
  ['packed', 18, 4],
  ['unpacked', 22, 4],
  ['name length', 26, 2],
  ['extra length', 28, 2],
  ['name', 30, 8],
];
const CENTRAL: [name: string, at: number, bytes: number][] = [
  ['signature', 0, 4],
  ['made by', 4, 2],
  ['version', 6, 2],
  ['flags', 8, 2],
  ['method', 10, 2],
  ['time', 12, 4],
  ['crc', 16, 4],
  ['packed', 20, 4],
  ['unpacked', 24, 4],
  ['name length', 28, 2],
  ['extra length', 30, 2],
  ['comment length', 32, 2],
  ['disk', 34, 2],
  ['internal', 36, 2],
  ['external', 38, 4],
  ['offset', 42, 4],
  ['name', 46, 8],
];
const END: [name: string, at: number, bytes: number][] = [
  ['signature', 0, 4],
  ['disk', 4, 2],
  ['directory disk', 6, 2],
  ['entries here', 8, 2],
  ['entries', 10, 2],
  ['directory bytes', 12, 4],
  ['directory start', 16, 4],
  ['comment length', 20, 2],
];
/**
 * What changes no name and no byte of a file: when and by what it was packed, attributes, hints. Flags that change how the
 * data is read differ between the two headers then, which is refused.
 */
const IGNORED = new Set(['time', 'made by', 'version', 'internal', 'external', 'disk', 'flags']);

/** The bytes of a ZIP without the fields that change no file. */
export function withoutIgnored(zip: Buffer): string {
  const bytes = Buffer.from(zip);
  const headers = [
    ['PK\x03\x04', LOCAL],
    ['PK\x01\x02', CENTRAL],
  ] as const;
  for (const [signature, fields] of headers)
    for (let start = 0; (start = bytes.indexOf(Buffer.from(signature, 'latin1'), start)) >= 0; start += 4)
      for (const [name, at, size] of fields)
        if (IGNORED.has(name)) bytes.fill(0, start + at, Math.min(start + at + size, bytes.length));
  return sha256(bytes);
}

/** Forges a header field of a ZIP. */
function forgeHeader(genuine: Zipped, random: Random): Forgery<Zipped> {
  const kind = pick(random, ['local', 'central', 'end'] as const);
  const signature = { local: 'PK\x03\x04', central: 'PK\x01\x02', end: 'PK\x05\x06' }[kind];
  const starts: number[] = [];
  const bytes = Buffer.from(genuine.bytes);
  for (let at = 0; (at = bytes.indexOf(Buffer.from(signature, 'latin1'), at)) >= 0; at += 4) starts.push(at);
  const start = pick(random, starts);
  const [name, at, size] = pick(random, { local: LOCAL, central: CENTRAL, end: END }[kind]);
  const to = start + at + Math.floor(random() * size);
  if (to < bytes.length) bytes[to] = (bytes[to] ?? 0) ^ (1 << Math.floor(random() * 8));
  const input = { ...genuine, bytes, isPlain: IGNORED.has(name) };
  return { operation: 'header', pointer: `${kind} header at ${start}, ${name}`, input };
}

/** What else can be changed together with the files of a bag, by somebody without a key. */
export function withManifests(entries: readonly Entry[]): Entry[] {
  const root =
    /^([^/]+\/)bagit\.txt$/.exec(entries.find(({ name }) => name.endsWith('/bagit.txt'))?.name ?? '')?.[1] ??
    '';
  const lines = (wanted: (name: string) => boolean, from: readonly Entry[]) =>
    from
      .filter(({ name }) => name.startsWith(root) && wanted(name.slice(root.length)))
      .map(({ name, data }) => `${sha256(data)}  ${name.slice(root.length)}\n`)
      .join('');
  const isTagManifest = (name: string) => name === 'tagmanifest-sha256.txt';
  const payload = entries.filter(({ name }) => name.startsWith(`${root}data/`));
  const oxum = `Payload-Oxum: ${payload.reduce((sum, { data }) => sum + data.length, 0)}.${payload.length}`;
  const changed = entries.map((entry) => {
    if (entry.name === `${root}manifest-sha256.txt`)
      return { ...entry, data: Buffer.from(lines((name) => name.startsWith('data/'), entries)) };
    if (entry.name === `${root}bag-info.txt`)
      return { ...entry, data: Buffer.from(entry.data.toString().replace(/Payload-Oxum: .*/, oxum)) };
    return entry;
  });
  return changed.map((entry) =>
    entry.name === `${root}tagmanifest-sha256.txt`
      ? {
          ...entry,
          data: Buffer.from(lines((name) => !name.startsWith('data/') && !isTagManifest(name), changed)),
        }
      : entry,
  );
}

/** Forges the content of a file as what it is: JSON, lines, or bytes. */
export function forgeFile(name: string, data: Buffer, other: Buffer, random: Random): Forgery<Buffer> {
  if (/\.(json|webmanifest)$/.test(name) || /^\{.*\}\s*$/s.test(data.toString('utf8', 0, 50_000))) {
    try {
      const [value, another] = [
        JSON.parse(data.toString()),
        JSON.parse(other.toString() || 'null'),
      ] as unknown[];
      const { operation, pointer, input } = forgeJson(value, another, random);
      return { operation, pointer, input: Buffer.from(input.text) };
    } catch {
      // Several lines of JSON, or another file in the place of one.
    }
  }
  const isText = /\.(txt|jsonl|html|md|csv|idx|tlog-proof|atom|xml)$|checkpoint$|files\/|list$/.test(name);
  if (!isText || random() < 0.2) return forgeBytes(data, other, random);
  const { operation, pointer, input } = forgeLines(data.toString(), other.toString(), random);
  return { operation, pointer, input: Buffer.from(input) };
}

/** A file that is named by its digest, perhaps in folders that are named by the beginning of it. */
const DIGEST_NAME = /(?:[0-9a-f]{2}\/[0-9a-f]{2}\/)?[0-9a-f]{64}$/;

/** Names other bytes in the same way. */
function namedAs(name: string, digest: string): string {
  return name.replace(DIGEST_NAME, (own) =>
    own.includes('/') ? `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}` : digest,
  );
}

/** Forges a file among files: one of them, or which there are. */
export function forgeEntries(
  genuine: readonly Entry[],
  other: readonly Entry[],
  random: Random,
): Forgery<Entry[]> {
  const at = Math.floor(random() * genuine.length);
  const entry = genuine[at] ?? { name: '', data: Buffer.alloc(0) };
  const another = other.find(
    ({ name }) => name.split('/').slice(1).join('/') === entry.name.split('/').slice(1).join('/'),
  );
  const to = pick(random, genuine);
  const operation = pick(random, [
    'content',
    'content',
    'content',
    'delete',
    'rename',
    'exchange',
    'swap',
    'again',
    'extra',
    'object',
    'all',
  ] as const);
  const replaced = (...by: Entry[]) => [...genuine.slice(0, at), ...by, ...genuine.slice(at + 1)];
  const done = (input: Entry[], pointer = entry.name) => ({ operation, pointer, input });
  switch (operation) {
    case 'content': {
      const forged = forgeFile(entry.name, entry.data, another?.data ?? to.data, random);
      const input = replaced({ ...entry, data: forged.input });
      return { operation: forged.operation, pointer: `${entry.name} ${forged.pointer}`, input };
    }
    case 'delete':
      return done(replaced());
    case 'rename':
      return done(
        replaced({
          ...entry,
          name: pick(random, [
            `${entry.name}x`,
            entry.name.toUpperCase(),
            `${entry.name.slice(0, -1)}`,
            otherText(entry.name, random).replaceAll('\0', '_'),
          ]),
        }),
      );
    case 'exchange':
      return done(
        genuine.map((each) =>
          each === entry ? { ...each, data: to.data } : each === to ? { ...each, data: entry.data } : each,
        ),
      );
    case 'swap':
      return done(replaced({ ...entry, data: another?.data ?? otherBytes(entry.data, random) }));
    case 'again':
      return done(replaced(entry, { ...entry, data: another?.data ?? otherBytes(entry.data, random) }));
    case 'extra': {
      const folder = entry.name.slice(0, entry.name.lastIndexOf('/') + 1);
      const name = pick(random, [
        'extra.txt',
        'index.html',
        '.DS_Store',
        `${'0'.repeat(64)}`,
        '._x.html',
        'desktop.ini',
        sha256('x'),
      ]);
      return done([...genuine, { name: folder + name, data: Buffer.from('x') }], folder + name);
    }
    case 'object': {
      // Bytes of somebody, named by their digest as the others are.
      const object = pick(random, [...genuine.filter(({ name }) => DIGEST_NAME.test(name)), entry]);
      const data = Buffer.from(`x${random()}`);
      const name = namedAs(object.name, sha256(data));
      return done([...genuine, { name, data }], name);
    }
    case 'all': {
      // The whole is that of another, but for one file.
      return done(
        other.map((each) => (each === another ? entry : each)),
        `all but ${entry.name}`,
      );
    }
  }
}

/** Forges a ZIP: its files, with manifests made anew or not, or its headers. */
export function forgeZip(genuine: Zipped, other: Zipped, random: Random): Forgery<Zipped> {
  const kind = random();
  if (kind < 0.2) return forgeHeader(genuine, random);
  if (kind < 0.25) {
    const forged = forgeBytes(genuine.bytes, other.bytes, random);
    return { ...forged, input: { ...genuine, bytes: forged.input, isPlain: false } };
  }
  const forged = forgeEntries(genuine.entries, other.entries, random);
  const isConsistent = random() < 0.6;
  const entries = isConsistent ? withManifests(forged.input) : forged.input;
  const operation = isConsistent ? `${forged.operation}, manifests made anew` : forged.operation;
  return { ...forged, operation, input: zipped(entries) };
}
