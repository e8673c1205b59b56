import { createHash } from 'node:crypto';
import { Problem } from '../../../../shared/problems.ts';
import { DECLARATION_FILE, INFO_FILE } from './bag.ts';
import {
  ALGORITHMS,
  compareManifest,
  type Manifest,
  type ManifestFinding,
  manifestKind,
  parseManifest,
} from './manifest.ts';
import { type BagFile, requireAtMost, tagFileLines } from './tagFileLines.ts';

export type { BagFile } from './tagFileLines.ts';

/** Digests in hex by algorithm. */
export type Digests = ReadonlyMap<string, string>;

/** What the tag files of a bag say. */
export interface BagTags {
  manifests: Manifest[];
  tagManifests: Manifest[];
  /** Sizes of the payload as `bag-info.txt` tells them, where it does. */
  oxum: { bytes: number; files: number } | undefined;
}

/** Manifests of 5,000 files with the longest paths have 6 MiB. */
export const MAX_PACK_TAG_BYTES = 16 * 1_048_576;
/** Of `bagit.txt` and `bag-info.txt`, which are read whole. */
const MAX_INFO_BYTES = 1_048_576;

/** BagIt 1.0 is RFC 8493; 0.97 is what most bags in the world are, and differs in nothing that matters here. */
const VERSIONS: ReadonlySet<string> = new Set(['0.97', '1.0']);

/**
 * Reads the tag files that say how a bag is checked. Manifests are read line by line, up to `maxBytes` each.
 *
 * @throws Problem `invalid_pack_file` for a `bagit.txt` that is none; `manifest_mismatch` without a manifest, or for
 * one that cannot be read.
 */
export async function readBagTags(
  tagFiles: ReadonlyMap<string, BagFile>,
  maxBytes: number,
): Promise<BagTags> {
  const tags: BagTags = { manifests: [], tagManifests: [], oxum: undefined };
  for (const [name, file] of tagFiles) {
    const kind = manifestKind(name);
    if (!kind || !Object.hasOwn(ALGORITHMS, kind.algorithm)) continue;
    const manifest = await parseManifest(name, kind.algorithm, tagFileLines(name, file, maxBytes));
    (kind.of === 'tags' ? tags.tagManifests : tags.manifests).push(manifest);
  }
  checkDeclaration(await allLines(DECLARATION_FILE, tagFiles));
  if (tags.manifests.length === 0)
    throw new Problem('manifest_mismatch', 'The bag has no manifest of its files.');
  tags.oxum = oxumOf(await allLines(INFO_FILE, tagFiles));
  return tags;
}

/** The lines of a small tag file; none where it is not there. */
async function allLines(name: string, tagFiles: ReadonlyMap<string, BagFile>): Promise<string[]> {
  const file = tagFiles.get(name);
  const lines: string[] = [];
  if (file) for await (const some of tagFileLines(name, file, MAX_INFO_BYTES)) lines.push(...some);
  return lines;
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
export function createDigester(algorithms: Iterable<string>) {
  const hashes = new Map([...algorithms].map((algorithm) => [algorithm, createHash(algorithm)]));
  return {
    update: (chunk: Uint8Array) => {
      for (const hash of hashes.values()) hash.update(chunk);
    },
    digests: (): Digests => new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest('hex')])),
  };
}

/** @throws Problem `invalid_pack_file` where the file is larger. */
export async function readTagFile(name: string, file: BagFile, maxBytes: number): Promise<Buffer> {
  requireAtMost(name, file, maxBytes);
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function checkDeclaration(lines: readonly string[]): void {
  const version = /^BagIt-Version: (\d+\.\d+)[ \t]*$/.exec(lines[0] ?? '')?.[1];
  const isUtf8 = /^Tag-File-Character-Encoding: UTF-8[ \t]*$/i.test(lines[1] ?? '');
  if (lines.length === 2 && version !== undefined && VERSIONS.has(version) && isUtf8) return;
  throw new Problem(
    'invalid_pack_file',
    'bagit.txt must say BagIt-Version: 1.0 (or 0.97) and Tag-File-Character-Encoding: UTF-8, a line each.',
  );
}

function oxumOf(info: readonly string[]): BagTags['oxum'] {
  for (const line of info) {
    const [, bytes, files] = /^Payload-Oxum[ \t]*:[ \t]*(\d+)\.(\d+)[ \t]*$/i.exec(line) ?? [];
    if (bytes !== undefined) return { bytes: Number(bytes), files: Number(files) };
  }
  return undefined;
}
