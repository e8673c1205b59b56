import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import { exitCodeOf, Tally } from '../../server/verification/report.ts';
import { checkpointClaims } from '../../server/verification/verifyNotes.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { TimestampError, verifyTimestamp } from '../../shared/proof/ledger/timestamp.ts';
import { checkTlogProof } from '../../shared/proof/ledger/tlogProof.ts';
import { decide } from '../../shared/proof/verdict.ts';
import { type DerNode, forgeDer, parseDer, writeDer } from './der.ts';
import {
  type ForgedFormat,
  type Forgery,
  forgeBytes,
  forgeLines,
  pick,
  type Random,
  sha256,
  type Verdict,
} from './forgery.ts';
import { forgeJson } from './json.ts';
import { entriesOf, forgeZip, withoutIgnored, type Zipped } from './zip.ts';

export function canonical(value: unknown): string | undefined {
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A key of somebody else, under the name of the genuine one. */
export class OtherKey {
  readonly #private: KeyObject;
  readonly #name: string;
  readonly #id: Buffer;

  constructor(verifierKey: string, seed: string) {
    const [name = '', id = ''] = verifierKey.split('+');
    this.#name = name;
    this.#id = Buffer.from(id, 'hex');
    const der = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      Buffer.from(sha256(seed), 'hex'),
    ]);
    this.#private = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  }

  sign(text: string): Buffer {
    return sign(null, Buffer.from(text), this.#private);
  }

  /** Signs the text of a note again. Its line says that the genuine key did. */
  signNote(note: string): string {
    const body = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const line = Buffer.concat([this.#id, this.sign(body)]).toString('base64');
    return `${body}\n\u2014 ${this.#name} ${line}\n`;
  }
}

/** The text of a note and the line of its key: lines of others say nothing of what the key signed. */
export function noteContent(note: string, name: string): string {
  const end = note.lastIndexOf('\n\n');
  const lines = note
    .slice(end + 2)
    .split('\n')
    .filter((line) => line.startsWith(`\u2014 ${name} `));
  return `${note.slice(0, end + 1)}${[...new Set(lines)].join('\n')}`;
}

export function checkpointFormat(
  genuine: readonly [string, string],
  key: string,
  folder: string,
): ForgedFormat<string> {
  const name = key.split('+', 1)[0] ?? '';
  const other = new OtherKey(key, 'checkpoint');
  return {
    name: 'checkpoint',
    share: 24_500,
    genuine,
    forge: (one, another, random) => {
      if (random() < 0.8) return forgeLines(one, another, random);
      const changed =
        random() < 0.5 ? { ...forgeLines(one, another, random) } : { operation: '', pointer: '', input: one };
      return {
        operation: `${changed.operation} other key`.trim(),
        pointer: changed.pointer,
        input: other.signNote(changed.input),
      };
    },
    verdict: (note) => decide('checkpoint', checkpointClaims(note, key)).verdict,
    command: async (note) => [await written(join(folder, 'forged-checkpoint'), note), '--key', key],
    content: (note) => noteContent(note, name),
  };
}

interface Proof {
  proof: string;
  entry: string;
}

export function proofFormat(
  genuine: readonly [Proof, Proof],
  key: string,
  folder: string,
): ForgedFormat<Proof> {
  const name = key.split('+', 1)[0] ?? '';
  const other = new OtherKey(key, 'proof');
  return {
    name: 'tlog-proof',
    share: 27_000,
    genuine,
    forge: (one, another, random) => {
      const kind = random();
      if (kind < 0.35) {
        const { operation, pointer, input } = forgeJson(parsed(one.entry), parsed(another.entry), random);
        // Whoever changes an entry can compute its hash.
        const value = input.value as { hash?: string };
        const isHashed = random() < 0.5 && typeof value === 'object' && value !== null;
        const { hash: _, ...rest } = isHashed ? value : {};
        const entry = isHashed ? canonical({ ...rest, hash: sha256(canonical(rest) ?? '') }) : input.text;
        return {
          operation: `entry: ${operation}${isHashed ? ', hash made anew' : ''}`,
          pointer,
          input: { ...one, entry: entry ?? '' },
        };
      }
      if (kind < 0.9) {
        const { operation, pointer, input } = forgeLines(one.proof, another.proof, random);
        return { operation, pointer, input: { ...one, proof: input } };
      }
      if (kind < 0.95)
        return { operation: 'swap', pointer: 'entry', input: { ...one, entry: another.entry } };
      const start = one.proof.indexOf('\n\n') + 2;
      return {
        operation: 'other key',
        pointer: 'checkpoint',
        input: { ...one, proof: one.proof.slice(0, start) + other.signNote(one.proof.slice(start)) },
      };
    },
    verdict: ({ proof, entry }) =>
      decide('tlog_proof', checkTlogProof(proof, { key, entry }, nodeCrypto)).verdict,
    command: async ({ proof, entry }) => {
      await written(join(folder, 'forged.entry.json'), entry);
      return [await written(join(folder, 'forged.tlog-proof'), proof), '--key', key];
    },
    content: ({ proof, entry }) => {
      const start = proof.indexOf('\n\n') + 2;
      const head = proof.slice(0, start).replace(/^extra [A-Za-z0-9+/=]*\n/m, '');
      return `${head}${noteContent(proof.slice(start), name)}\n${canonical(parsed(entry))}`;
    },
  };
}

interface Stamped {
  reply: Buffer;
  text: Buffer;
}

export function timestampFormat(genuine: readonly [Stamped, Stamped], folder: string): ForgedFormat<Stamped> {
  return {
    name: 'timestamp',
    share: 13_000,
    genuine,
    forge: (one, another, random) => {
      const kind = random();
      if (kind < 0.1) {
        const { operation, pointer, input } = forgeLines(
          one.text.toString(),
          another.text.toString(),
          random,
        );
        return { operation: `text: ${operation}`, pointer, input: { ...one, text: Buffer.from(input) } };
      }
      const forged =
        kind < 0.2
          ? forgeBytes(one.reply, another.reply, random)
          : forgeDer(one.reply, another.reply, random);
      return { ...forged, input: { ...one, reply: forged.input } };
    },
    command: async ({ reply, text }) => {
      await written(join(folder, 'forged.txt'), text);
      return [await written(join(folder, 'forged.tsr'), reply)];
    },
    verdict: ({ reply, text }) => {
      try {
        verifyTimestamp(reply, text, nodeCrypto);
        return 'intact';
      } catch (error) {
        if (error instanceof TimestampError) return 'altered';
        if (error instanceof Error && error.name === 'UnknownAlgorithmError') return 'unknown';
        throw error;
      }
    },
    content: ({ reply, text }) => {
      // A certificate that nothing names may have any bytes.
      const same = genuine.find((each) => differsInUnnamedOnly(reply, each.reply));
      const root = parseDer(same?.reply ?? reply);
      return root && `${stampContent(root)}\n${sha256(text)}`;
    },
  };
}

/** Whether two replies differ within the last certificate only, which is that of the authority's authority. */
function differsInUnnamedOnly(reply: Buffer, genuine: Buffer): boolean {
  const signedData = parseDer(genuine)?.children?.[1]?.children?.[1]?.children?.[0];
  const certificates = signedData?.children?.find(({ tag }) => tag === 0xa0)?.children ?? [];
  const last = certificates.at(-1);
  if (!last || certificates.length < 2 || reply.length !== genuine.length) return false;
  const bytes = writeDer(last);
  const start = genuine.indexOf(bytes);
  const without = (all: Buffer) =>
    Buffer.concat([all.subarray(0, start), all.subarray(start + bytes.length)]);
  return without(reply).equals(without(genuine));
}

/**
 * A reply as text, without what no authority signs and the program neither shows nor uses: which of the two good statuses it has, its words, the hint
 * which digests are used, unsigned attributes, and certificates that the signed attributes do not name.
 */
function stampContent(root: DerNode): string {
  const signedData = root.children?.[1]?.children?.[1]?.children?.[0];
  const signer = signedData?.children?.at(-1)?.children?.[0];
  const attributes = signer?.children?.find(({ tag }) => tag === 0xa0);
  const named = attributes ? writeDer(attributes).toString('hex') : '';
  const isNamed = (certificate: DerNode) => {
    const bytes = writeDer(certificate);
    return ['sha1', 'sha256'].some((hash) => named.includes(createHash(hash).update(bytes).digest('hex')));
  };
  const kept = (node: DerNode): DerNode => {
    const { children } = node;
    if (!children) return node;
    // Parameters of an algorithm that are NULL may be left out (RFC 5754).
    const isAlgorithm = children.length === 2 && children[0]?.tag === 6 && children[1]?.tag === 5;
    if (isAlgorithm) return { ...node, children: children.slice(0, 1) };
    // 0 is granted, 1 is granted with changes.
    const code = root.children?.[0]?.children?.[0];
    if (
      node === root.children?.[0] &&
      code?.tag === 2 &&
      code.content.length === 1 &&
      (code.content[0] ?? 2) < 2
    )
      return { ...node, children: [] };
    if (node === signer) return { ...node, children: children.filter(({ tag }) => tag !== 0xa1).map(kept) };
    if (node === signedData)
      return {
        ...node,
        children: children.map((each, index) => {
          if (index === 1) return { ...each, content: Buffer.alloc(0), children: undefined };
          if (each.tag === 0xa0) return { ...each, children: each.children?.filter(isNamed).slice(0, 1) };
          return kept(each);
        }),
      };
    return { ...node, children: children.map(kept) };
  };
  return writeDer(kept(root)).toString('hex');
}

/** The lines of a dump. Whoever changes one can write its trailer again. */
export function dumpFormat(genuine: readonly [string, string], folder: string): ForgedFormat<string> {
  const file = join(folder, 'forged.dump.jsonl');
  return {
    name: 'dump',
    share: 3_000,
    genuine,
    forge: (one, another, random) => {
      const forged = random() < 0.4 ? forgeLines(one, another, random) : forgeDumpLine(one, another, random);
      if (random() < 0.4) return forged;
      return {
        ...forged,
        operation: `${forged.operation}, trailer made anew`,
        input: withTrailer(forged.input),
      };
    },
    verdict: async (dump) => verdictOf(await written(file, dump)),
    command: async (dump) => [await written(file, dump)],
    content: (dump) => {
      const lines = dump.split('\n').filter(Boolean).map(parsed);
      return lines.includes(undefined) ? undefined : lines.map(canonical).join('\n');
    },
  };
}

function forgeDumpLine(one: string, another: string, random: Random): Forgery<string> {
  const lines = one.trimEnd().split('\n');
  const at = Math.floor(random() * lines.length);
  const value = parsed(lines[at] ?? '');
  const kind = (value as { kind?: string }).kind;
  const others = another.trimEnd().split('\n').map(parsed) as { kind?: string }[];
  const same = others.filter((each) => each.kind === kind);
  const { operation, pointer, input } = forgeJson(
    value,
    same.length > 0 ? pick(random, same) : others[0],
    random,
  );
  const changed = lines.map((line, index) => (index === at ? input.text : line)).join('\n');
  return { operation, pointer: `line ${at + 1} (${kind}) ${pointer}`, input: `${changed}\n` };
}

function withTrailer(dump: string): string {
  const lines = dump.split('\n').filter((line) => line !== '' && !line.startsWith('{"kind":"trailer"'));
  const text = lines.map((line) => `${line}\n`).join('');
  const trailer = dump.split('\n').find((line) => line.startsWith('{"kind":"trailer"')) ?? '';
  const genuine = (parsed(trailer) ?? {}) as { counts?: Record<string, number> };
  const counts: Record<string, number> = Object.fromEntries(
    Object.keys(genuine.counts ?? {}).map((kind) => [kind, 0]),
  );
  for (const line of lines.slice(1)) {
    const kind = /^\{"kind":"([a-z_]+)"/.exec(line)?.[1] ?? '';
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return `${text}${JSON.stringify({ ...genuine, kind: 'trailer', counts, sha256: sha256(text) })}\n`;
}

async function written(file: string, content: string | Buffer): Promise<string> {
  await writeFile(file, content);
  return file;
}

/** What the command says of a file or folder, by its exit code. */
export async function verdictOf(path: string, pages?: readonly KnownPage[]): Promise<Verdict> {
  const tally = new Tally();
  const known = pages && { pages: async () => pages };
  for await (const findings of verifyPaths({ paths: [path], ...known }))
    for (const each of findings) tally.add(each);
  return ({ 0: 'intact', 3: 'unsigned', 1: 'altered' } as const)[exitCodeOf(tally.summary)];
}

interface ZipOptions {
  name: string;
  share: number;
  /** The file that a forgery is written to; its end says what it is. */
  file: string;
  content: (entries: readonly { name: string; data: Buffer }[]) => string | undefined;
  pages?: readonly KnownPage[];
}

function zipFormat(
  genuine: readonly [Buffer, Buffer],
  { name, share, file, content, pages }: ZipOptions,
): ForgedFormat<Zipped> {
  const read = (bytes: Buffer): Zipped => ({ bytes, entries: entriesOf(bytes), isPlain: true });
  const [one, other] = [read(genuine[0]), read(genuine[1])];
  const known = new Map(genuine.map((bytes) => [withoutIgnored(bytes), bytes]));
  return {
    name,
    share,
    genuine: [one, other],
    forge: forgeZip,
    verdict: async ({ bytes }) => verdictOf(await written(file, bytes), pages),
    command: async ({ bytes }) => [await written(file, bytes)],
    content: ({ bytes, entries, isPlain }) => {
      const same = known.get(withoutIgnored(bytes));
      if (same) return content(entriesOf(same));
      return isPlain && new Set(entries.map((entry) => entry.name)).size === entries.length
        ? content(entries)
        : undefined;
    },
  };
}

/** The files of a bag below its root, but for the tag files that only say how it was packed. */
function payloadOf(entries: readonly { name: string; data: Buffer }[], wanted: RegExp): string {
  return entries
    .filter(({ name }) => wanted.test(name))
    .map(({ name, data }) => `${name} ${sha256(data)}`)
    .sort()
    .join('\n');
}

/** A pack is its record, which names it, and the files. One that says by its name what it is, is another pack. */
export function packFormat(genuine: readonly [Buffer, Buffer], folder: string): ForgedFormat<Zipped> {
  return zipFormat(genuine, {
    name: 'pack file',
    share: 2_000,
    file: join(folder, 'forged.pack.zip'),
    content: (entries) => {
      const record = entries.find(({ name }) => name.endsWith('/pack.json'));
      const fingerprint = sha256(canonical(parsed(record?.data.toString() ?? '')) ?? '');
      const root = record?.name.split('/', 1)[0] ?? '';
      return `${root} ${fingerprint} ${payloadOf(entries, /^[^/]+\/data\//)}`;
    },
  });
}

/** The files of a bag but those that only say how it was packed. */
const PACKED = /^(?![^/]+\/(?:bagit|bag-info|(?:tag)?manifest-\w+)\.txt$)/;

/** A bag of an archive is its dump and its objects. */
export function exportFormat(genuine: readonly [Buffer, Buffer], folder: string): ForgedFormat<Zipped> {
  return zipFormat(genuine, {
    name: 'export',
    share: 1_200,
    file: join(folder, 'forged.zip'),
    content: (entries) => payloadOf(entries, PACKED),
  });
}

export function caseBagFormat(
  genuine: readonly [Buffer, Buffer],
  folder: string,
  pages: readonly KnownPage[],
): ForgedFormat<Zipped> {
  return zipFormat(genuine, {
    name: 'case bag',
    share: 500,
    file: join(folder, 'forged-case.zip'),
    content: (entries) => payloadOf(entries, PACKED),
    pages,
  });
}

export function waczFormat(genuine: readonly [Buffer, Buffer], folder: string): ForgedFormat<Zipped> {
  return zipFormat(genuine, {
    name: 'WACZ',
    share: 1_300,
    file: join(folder, 'forged.wacz'),
    content: (entries) =>
      entries
        .map(
          ({ name, data }) =>
            `${name} ${name === 'datapackage-digest.json' ? signedList(data) : sha256(data)}`,
        )
        .sort()
        .join('\n'),
  });
}

/** What the signature of a package is over, and by which key; the rest of that file is only claimed. */
function signedList(data: Buffer): string {
  const { path, hash, signedData } = (parsed(data.toString()) ?? {}) as Record<string, unknown>;
  const {
    hash: signedHash,
    signature,
    domainCert,
    publicKey,
  } = (signedData ?? {}) as Record<string, unknown>;
  return JSON.stringify([path, hash, signedHash, signature, domainCert, publicKey]);
}

export type Files = ReadonlyMap<string, Buffer>;

export async function filesIn(folder: string): Promise<Files> {
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    found.set(file.slice(folder.length + 1), await readFile(file));
  }
  return found;
}
