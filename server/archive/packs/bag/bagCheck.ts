import { createHash } from 'node:crypto';
import { Problem } from '../../../../shared/problems.ts';
import { countOf } from '../../../../shared/values/counts.ts';
import {
  ALGORITHMS,
  compareManifest,
  type Manifest,
  type ManifestFinding,
  manifestKind,
  parseManifest,
} from './manifest.ts';
import {
  type BagFile,
  type BagRules,
  DECLARATION_FILE,
  type Declaration,
  FETCH_FILE,
  fetchFault,
  INFO_FILE,
  parseDeclaration,
  requireAtMost,
  tagFileLines,
} from './tagFiles.ts';

export type { BagFile } from './tagFiles.ts';

/** Digests in hex by algorithm. */
export type Digests = ReadonlyMap<string, string>;

/** The parsed tag files of a bag. */
export interface BagTags extends Declaration {
  manifests: Manifest[];
  tagManifests: Manifest[];
  /** The size of the payload according to `bag-info.txt`, if given. */
  oxum: { bytes: number; files: number } | undefined;
  /** What is wrong with `fetch.txt`, if anything. */
  fetchFault: string | undefined;
}

/** How strictly a bag is read. */
export interface BagReading {
  /** The maximum size of a manifest. */
  maxBytes: number;
  rules: BagRules;
}

/** Manifests of 5,000 files with the longest paths are 6 MiB. */
export const MAX_PACK_TAG_BYTES = 16 * 1_048_576;
/** The maximum size of `bagit.txt` and of `bag-info.txt`, which are read into memory. */
const MAX_INFO_BYTES = 1_048_576;

/** The name of `bag-info.txt` before BagIt 0.96. */
const OLD_INFO_FILE = 'package-info.txt';

/**
 * Reads the tag files that are needed to check a bag. Manifests are read line by line, up to `maxBytes` each.
 *
 * @throws Problem `invalid_pack_file` if `bagit.txt` is invalid; `manifest_mismatch` if there is no manifest or one is
 * invalid.
 */
export async function readBagTags(
  tagFiles: ReadonlyMap<string, BagFile>,
  { maxBytes, rules }: BagReading,
): Promise<BagTags> {
  const { version, encoding } = parseDeclaration(await allLines(DECLARATION_FILE, tagFiles), rules);
  const tags: BagTags = {
    version,
    encoding,
    manifests: [],
    tagManifests: [],
    oxum: undefined,
    fetchFault: undefined,
  };
  for (const [name, file] of tagFiles) {
    const kind = manifestKind(name);
    if (!kind || !Object.hasOwn(ALGORITHMS, kind.algorithm)) continue;
    const lines = tagFileLines(name, file, maxBytes, encoding);
    const manifest = await parseManifest(name, kind.algorithm, lines, {
      decodesPercent: version === '1.0',
      isLenient: rules === 'any',
    });
    (kind.of === 'tags' ? tags.tagManifests : tags.manifests).push(manifest);
  }
  if (tags.manifests.length === 0) throw new Problem('manifest_mismatch', 'The bag has no payload manifest.');
  const infoFile = tagFiles.has(INFO_FILE) ? INFO_FILE : OLD_INFO_FILE;
  tags.oxum = oxumOf(await allLines(infoFile, tagFiles, encoding));
  const fetchFile = tagFiles.get(FETCH_FILE);
  if (fetchFile) tags.fetchFault = await fetchFault(tagFileLines(FETCH_FILE, fetchFile, maxBytes, encoding));
  return tags;
}

/** Returns the lines of a small tag file; none if it does not exist. */
async function allLines(
  name: string,
  tagFiles: ReadonlyMap<string, BagFile>,
  encoding?: string,
): Promise<string[]> {
  const file = tagFiles.get(name);
  const lines: string[] = [];
  if (file) for await (const some of tagFileLines(name, file, MAX_INFO_BYTES, encoding)) lines.push(...some);
  return lines;
}

/** Compares the tag files with each tag manifest. A tag manifest must list every payload manifest. */
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

/**
 * Compares the payload files with each payload manifest. Paths start with `data/`. Before BagIt 1.0, a file has to be in
 * one manifest only.
 */
export function comparePayload(
  { version, manifests }: BagTags,
  digests: ReadonlyMap<string, Digests>,
): ManifestFinding[] {
  const findings = manifests.flatMap((manifest) =>
    compareManifest(manifest, digestsBy(manifest.algorithm, digests), true),
  );
  if (version === '1.0') return findings;
  const isListed = (path: string) => manifests.some((manifest) => manifest.digests.has(path));
  return findings.filter(({ state, path }) => state !== 'unlisted' || !isListed(path));
}

function digestsBy(algorithm: string, digests: ReadonlyMap<string, Digests>): Map<string, string> {
  return new Map([...digests].map(([path, ofFile]) => [path, ofFile.get(algorithm) ?? '']));
}

/** @throws Problem `manifest_mismatch` if the number of files or bytes differs from `bag-info.txt`. */
export function checkOxum({ oxum }: BagTags, payload: Iterable<{ bytes: number }>): void {
  if (oxum === undefined) return;
  const sizes = [...payload].map(({ bytes }) => bytes);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (oxum.bytes === bytes && oxum.files === sizes.length) return;
  throw new Problem(
    'manifest_mismatch',
    `bag-info.txt says ${oxum.bytes} bytes in ${countOf(oxum.files, 'file')}, but there are ${bytes} bytes in ${countOf(sizes.length, 'file')}.`,
  );
}

/** Returns a hasher that computes several digests of the same bytes. */
export function createDigester(algorithms: Iterable<string>) {
  const hashes = new Map([...algorithms].map((algorithm) => [algorithm, createHash(algorithm)]));
  return {
    update: (chunk: Uint8Array) => {
      for (const hash of hashes.values()) hash.update(chunk);
    },
    digests: (): Digests => new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest('hex')])),
  };
}

/** Reads a tag file into memory. @throws Problem `invalid_pack_file` if it is larger than `maxBytes`. */
export async function readTagFile(name: string, file: BagFile, maxBytes: number): Promise<Buffer> {
  requireAtMost(name, file, maxBytes);
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function oxumOf(info: readonly string[]): BagTags['oxum'] {
  for (const line of info) {
    const [, bytes, files] = /^Payload-Oxum[ \t]*:[ \t]*(\d+)\.(\d+)[ \t]*$/i.exec(line) ?? [];
    if (bytes !== undefined) return { bytes: Number(bytes), files: Number(files) };
  }
  return undefined;
}
