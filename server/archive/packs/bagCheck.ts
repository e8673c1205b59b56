import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Problem } from '../../../shared/problems.ts';
import { DECLARATION_FILE, INFO_FILE } from './bag.ts';
import {
  ALGORITHMS,
  compareManifest,
  linesOf,
  type Manifest,
  type ManifestFinding,
  manifestKind,
  parseManifest,
} from './manifest.ts';

/** A file of a bag that can be read, wherever the bag lies. */
export interface BagFile {
  bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Digests in hex by algorithm. */
export type Digests = ReadonlyMap<string, string>;

/** What the tag files of a bag say. */
export interface BagTags {
  manifests: Manifest[];
  tagManifests: Manifest[];
  /** Sizes of the payload as `bag-info.txt` tells them, where it does. */
  oxum: { bytes: number; files: number } | undefined;
  /** The text of every tag file that was read. */
  texts: Map<string, Buffer>;
}

/** Manifests of 5,000 files with the longest paths have 6 MiB. */
const MAX_TAG_BYTES = 16 * 1_048_576;

/** BagIt 1.0 is RFC 8493; 0.97 is what most bags in the world are, and differs in nothing that matters here. */
const VERSIONS: ReadonlySet<string> = new Set(['0.97', '1.0']);

/**
 * Reads the tag files that say how a bag is checked.
 *
 * @throws Problem `invalid_pack_file` for a `bagit.txt` that is none; `manifest_mismatch` without a manifest, or for
 * one that cannot be read.
 */
export async function readBagTags(tagFiles: ReadonlyMap<string, BagFile>): Promise<BagTags> {
  const tags: BagTags = { manifests: [], tagManifests: [], oxum: undefined, texts: new Map() };
  for (const [name, file] of tagFiles) {
    const kind = manifestKind(name);
    if (!kind && name !== DECLARATION_FILE && name !== INFO_FILE) continue;
    const bytes = await readWhole(name, file, MAX_TAG_BYTES);
    tags.texts.set(name, bytes);
    if (kind && Object.hasOwn(ALGORITHMS, kind.algorithm)) {
      const manifest = parseManifest(name, kind.algorithm, textOf(name, bytes));
      (kind.of === 'tags' ? tags.tagManifests : tags.manifests).push(manifest);
    }
  }
  checkDeclaration(tags.texts.get(DECLARATION_FILE));
  if (tags.manifests.length === 0)
    throw new Problem('manifest_mismatch', 'The bag has no manifest of its files.');
  const info = tags.texts.get(INFO_FILE);
  tags.oxum = info && oxumOf(textOf(INFO_FILE, info));
  return tags;
}

/** Compares the tag files with each tag manifest, which must list every manifest of the payload. */
export function compareTags(
  { manifests, tagManifests }: BagTags,
  digests: ReadonlyMap<string, Digests>,
): ManifestFinding[] {
  return tagManifests.flatMap((manifest) => {
    const actual = digestsBy(manifest.algorithm, digests);
    const unlisted = manifests
      .filter(({ name }) => !manifest.digests.has(name))
      .map(({ name }): ManifestFinding => {
        const { algorithm } = manifest;
        return {
          path: name,
          state: 'unlisted',
          manifest: manifest.name,
          algorithm,
          expected: undefined,
          actual: actual.get(name),
        };
      });
    return [...compareManifest(manifest, actual, false), ...unlisted];
  });
}

/** Compares the payload, by paths from `data/` on, with each manifest of it. */
export function comparePayload(
  { manifests }: BagTags,
  digests: ReadonlyMap<string, Digests>,
): ManifestFinding[] {
  return manifests.flatMap((manifest) =>
    compareManifest(manifest, digestsBy(manifest.algorithm, digests), true),
  );
}

function digestsBy(algorithm: string, digests: ReadonlyMap<string, Digests>): Map<string, string> {
  return new Map([...digests].map(([path, ofFile]) => [path, ofFile.get(algorithm) ?? '']));
}

/** @throws Problem `manifest_mismatch` where `bag-info.txt` counts other files or bytes than there are. */
export function checkOxum({ oxum }: BagTags, payload: Iterable<{ bytes: number }>): void {
  if (oxum === undefined) return;
  const sizes = [...payload].map(({ bytes }) => bytes);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (oxum.bytes === bytes && oxum.files === sizes.length) return;
  throw new Problem(
    'manifest_mismatch',
    `bag-info.txt tells of ${oxum.bytes} bytes in ${oxum.files} files; there are ${bytes} in ${sizes.length}.`,
  );
}

/** Takes the digests of bytes that pass by. */
export function digester(algorithms: Iterable<string>) {
  const hashes = new Map([...algorithms].map((algorithm) => [algorithm, createHash(algorithm)]));
  return {
    update: (chunk: Uint8Array) => {
      for (const hash of hashes.values()) hash.update(chunk);
    },
    digests: (): Digests => new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest('hex')])),
  };
}

/** @throws Problem `invalid_pack_file` where the file is larger. */
export async function readWhole(name: string, file: BagFile, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new Problem('invalid_pack_file', `${name} may have at most ${maxBytes} bytes.`);
  if (file.bytes > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** BagIt allows no byte order mark, and other encodings than UTF-8 are not read here. */
function textOf(name: string, bytes: Buffer): string {
  const text = bytes.toString();
  if (isUtf8(bytes) && !text.startsWith('\ufeff')) return text;
  throw new Problem('invalid_pack_file', `${name} must be UTF-8 without a byte order mark.`);
}

function checkDeclaration(bytes: Buffer | undefined): void {
  const lines = bytes ? linesOf(textOf(DECLARATION_FILE, bytes)) : [];
  const version = /^BagIt-Version: (\d+\.\d+)[ \t]*$/.exec(lines[0] ?? '')?.[1];
  const isUtf8 = /^Tag-File-Character-Encoding: UTF-8[ \t]*$/i.test(lines[1] ?? '');
  if (lines.length === 2 && version !== undefined && VERSIONS.has(version) && isUtf8) return;
  throw new Problem(
    'invalid_pack_file',
    'bagit.txt must say BagIt-Version: 1.0 (or 0.97) and Tag-File-Character-Encoding: UTF-8, a line each.',
  );
}

function oxumOf(info: string): BagTags['oxum'] {
  for (const line of linesOf(info)) {
    const [, bytes, files] = /^Payload-Oxum[ \t]*:[ \t]*(\d+)\.(\d+)[ \t]*$/i.exec(line) ?? [];
    if (bytes !== undefined) return { bytes: Number(bytes), files: Number(files) };
  }
  return undefined;
}
