import { createHash } from 'node:crypto';
import { Problem } from '../../../../shared/problems.ts';
import { countOf } from '../../../../shared/values/counts.ts';
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
  TagEncodingError,
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
  /** What is wrong with the encoding of tag files, by their names. They were read all the same. */
  encodingFaults: ReadonlyMap<string, string>;
}

/** How strictly a bag is read. */
interface BagReading {
  /** The maximum size of a manifest. */
  maxBytes: number;
  rules: BagRules;
}

/** Manifests of 5,000 files with the longest paths are 6 MiB. */
export const MAX_PACK_TAG_BYTES = 16 * 1_048_576;
/** The maximum size of `bagit.txt` and of `bag-info.txt`, which are read into memory. */
const MAX_INFO_BYTES = 1_048_576;
/** A digest of SHA-512, and what is between it and the path. */
const MAX_LINE_START = 132;

/** The name of `bag-info.txt` before BagIt 0.96. */
const OLD_INFO_FILE = 'package-info.txt';

/**
 * Reads the tag files that are needed to check a bag. Manifests are read line by line, up to `maxBytes` each.
 *
 * @throws Problem `invalid_pack_file` if `bagit.txt` is invalid; `manifest_mismatch` if there is no manifest, or one is
 * invalid or lists many more files than there are.
 */
export async function readBagTags(
  tagFiles: ReadonlyMap<string, BagFile>,
  { maxBytes, rules }: BagReading,
): Promise<BagTags> {
  const encodingFaults = new Map<string, string>();
  const read = <Value>(
    name: string,
    encoding: string | undefined,
    reading: ReadLines<Value>,
    most = maxBytes,
  ) =>
    rules === 'any'
      ? readLeniently(name, tagFiles, { encoding, maxBytes: most, faults: encodingFaults }, reading)
      : reading(linesOfFile(name, tagFiles, most, encoding));
  const { version, encoding } = parseDeclaration(
    await read(DECLARATION_FILE, undefined, collected, MAX_INFO_BYTES),
    rules,
  );
  const tags: BagTags = {
    version,
    encoding,
    manifests: [],
    tagManifests: [],
    oxum: undefined,
    fetchFault: undefined,
    encodingFaults,
  };
  const spare = { lines: MAX_MISSING_FILES, characters: MAX_MISSING_CHARACTERS };
  for (const name of tagFiles.keys()) {
    const kind = manifestKind(name);
    if (!kind || !Object.hasOwn(ALGORITHMS, kind.algorithm)) continue;
    const manifest = await read(name, encoding, (lines) =>
      parseManifest(name, kind.algorithm, bounded(name, lines, tagFiles, spare), {
        decodesPercent: version === '1.0',
        isLenient: rules === 'any',
      }),
    );
    (kind.of === 'tags' ? tags.tagManifests : tags.manifests).push(manifest);
  }
  if (tags.manifests.length === 0) throw new Problem('manifest_mismatch', 'The bag has no payload manifest.');
  const infoFile = tagFiles.has(INFO_FILE) ? INFO_FILE : OLD_INFO_FILE;
  tags.oxum = oxumOf(await read(infoFile, encoding, collected, MAX_INFO_BYTES));
  if (tagFiles.has(FETCH_FILE)) tags.fetchFault = await read(FETCH_FILE, encoding, fetchFault);
  return tags;
}

type ReadLines<Value> = (lines: AsyncIterable<string[]>) => Promise<Value>;

/**
 * Reads a tag file; if it is not in its encoding, with its byte order mark skipped, or else in ISO-8859-1, in which all bytes are
 * characters. What the bag holds can then be verified; the fault is kept.
 */
async function readLeniently<Value>(
  name: string,
  tagFiles: ReadonlyMap<string, BagFile>,
  {
    encoding,
    maxBytes,
    faults,
  }: { encoding: string | undefined; maxBytes: number; faults: Map<string, string> },
  read: ReadLines<Value>,
): Promise<Value> {
  try {
    return await read(linesOfFile(name, tagFiles, maxBytes, encoding));
  } catch (error) {
    if (!(error instanceof TagEncodingError)) throw error;
    faults.set(name, error.message);
  }
  try {
    return await read(linesOfFile(name, tagFiles, maxBytes, encoding, true));
  } catch (error) {
    if (!(error instanceof TagEncodingError)) throw error;
    return await read(linesOfFile(name, tagFiles, maxBytes, 'ISO-8859-1'));
  }
}

/** Yields the lines of a tag file; none if it does not exist. */
async function* linesOfFile(
  name: string,
  tagFiles: ReadonlyMap<string, BagFile>,
  maxBytes: number,
  encoding?: string,
  allowsMark = false,
): AsyncGenerator<string[]> {
  const file = tagFiles.get(name);
  if (file) yield* tagFileLines(name, file, maxBytes, encoding, allowsMark);
}

/**
 * How much the manifests of a bag may list that it does not have, all together. They are kept in memory, and a small ZIP can hold
 * millions of lines.
 */
const MAX_MISSING_FILES = 500_000;
const MAX_MISSING_CHARACTERS = 134_217_728;

/** Passes on the lines of a manifest. @throws Problem `manifest_mismatch` if there are more than the files and the spare ones. */
async function* bounded(
  name: string,
  lines: AsyncIterable<string[]>,
  files: ReadonlyMap<string, BagFile>,
  spare: { lines: number; characters: number },
): AsyncGenerator<string[]> {
  const own = { lines: files.size, characters: 0 };
  // A character of a path may be written as three.
  for (const path of files.keys()) own.characters += MAX_LINE_START + 3 * path.length;
  for await (const some of lines) {
    const characters = some.reduce((sum, line) => sum + line.length, 0);
    spare.lines -= Math.max(0, some.length - own.lines);
    spare.characters -= Math.max(0, characters - own.characters);
    own.lines = Math.max(0, own.lines - some.length);
    own.characters = Math.max(0, own.characters - characters);
    if (spare.lines < 0 || spare.characters < 0)
      throw new Problem('manifest_mismatch', `${name} lists far more files than the bag has.`);
    yield some;
  }
}

async function collected(lines: AsyncIterable<string[]>): Promise<string[]> {
  const all: string[] = [];
  for await (const some of lines) all.push(...some);
  return all;
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

/** The supported checksum algorithms, by their name in the manifest's file name, with the length of a digest in hex. */
export const ALGORITHMS: Readonly<Record<string, number>> = {
  md5: 32,
  sha1: 40,
  sha224: 56,
  sha256: 64,
  sha384: 96,
  sha512: 128,
};

/** A parsed manifest: the expected digest of each path. */
interface Manifest {
  /** The name of its file. */
  name: string;
  algorithm: string;
  digests: Map<string, string>;
  /** The paths as they are written, if they contain a percent sign. */
  written: Map<string, string>;
  /** Peculiarities that other readers may not accept, by path. */
  warnings: Map<string, string>;
}

interface ManifestRules {
  /** Whether `%25` stands for a percent sign, as in BagIt 1.0. */
  decodesPercent: boolean;
  /** Whether a path may begin with `./`, and be listed again with the same digest. */
  isLenient: boolean;
}

/** The result of comparing one file with a manifest. */
export interface ManifestFinding {
  path: string;
  state: 'intact' | 'changed' | 'missing' | 'unlisted';
  /** The manifest's file name. */
  manifest: string;
  algorithm: string;
  expected: string | undefined;
  actual: string | undefined;
}

/** Parses the name of a manifest file. Returns undefined for other files. */
export function manifestKind(name: string): { of: 'payload' | 'tags'; algorithm: string } | undefined {
  const match = /^(tag)?manifest-([a-z0-9-]+)\.txt$/.exec(name);
  const algorithm = match?.[2];
  return algorithm === undefined ? undefined : { of: match?.[1] ? 'tags' : 'payload', algorithm };
}

/** A line of a manifest. */
export interface ManifestLine {
  path: string;
  digest: string;
  /** The path as it is written. */
  written: string;
  /** What precedes the path, such as the asterisk of `md5sum`. */
  prefix: string;
}

const STRICT: ManifestRules = { decodesPercent: true, isLenient: false };

/**
 * Yields the lines of a manifest as it is read. Each has a digest, white space and a path, before which `md5sum` may have
 * written an asterisk.
 *
 * @throws Problem `manifest_mismatch` for an invalid line.
 */
export async function* manifestLines(
  name: string,
  algorithm: string,
  lines: AsyncIterable<readonly string[]>,
  rules = STRICT,
): AsyncGenerator<ManifestLine> {
  let number = 0;
  for await (const some of lines) {
    for (const line of some) {
      number += 1;
      const [, digest, prefix = '', written] = (rules.isLenient ? LENIENT_LINE : LINE).exec(line) ?? [];
      if (digest?.length !== ALGORITHMS[algorithm] || digest === undefined || written === undefined) {
        throw new Problem('manifest_mismatch', `Line ${number} of ${name} is not a digest and a path.`);
      }
      const path = decodePath(written, rules.decodesPercent);
      yield { path, digest: digest.toLowerCase(), written, prefix };
    }
  }
}

/** Reads a manifest. @throws Problem `manifest_mismatch` for an invalid line or a duplicate path. */
async function parseManifest(
  name: string,
  algorithm: string,
  lines: AsyncIterable<readonly string[]>,
  rules = STRICT,
): Promise<Manifest> {
  const manifest: Manifest = {
    name,
    algorithm,
    digests: new Map(),
    written: new Map(),
    warnings: new Map(),
  };
  for await (const { path, digest, written, prefix } of manifestLines(name, algorithm, lines, rules)) {
    if (prefix) manifest.warnings.set(path, `listed with ${prefix} before its path`);
    if (written.includes('%')) manifest.written.set(path, written);
    addDigest(manifest, path, digest, rules);
  }
  return manifest;
}

const LINE = /^([0-9a-fA-F]+)[ \t]+(\*?)(.+)$/su;
const LENIENT_LINE = /^([0-9a-fA-F]+)[ \t]+(\*?(?:\.\/)*)(.+)$/su;

function addDigest(
  { name, digests, warnings }: Manifest,
  path: string,
  digest: string,
  rules: ManifestRules,
): void {
  const earlier = digests.get(path);
  if (earlier !== undefined) {
    if (!rules.isLenient || earlier !== digest) {
      throw new Problem('manifest_mismatch', `${name} lists ${JSON.stringify(path)} twice.`);
    }
    warnings.set(path, 'listed twice');
  }
  digests.set(path, digest);
}

/** In manifests BagIt percent-encodes only line breaks and, since 1.0, the percent sign itself. */
function decodePath(path: string, decodesPercent: boolean): string {
  return path.replace(decodesPercent ? /%(0A|0D|25)/gi : /%(0A|0D)/gi, (_whole, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/**
 * Returns a manifest whose paths are the names of existing files. A path without a file may mean a file whose name has
 * another Unicode normalization, or percent signs that the writer of the manifest encoded by the rules of another version
 * of BagIt. A file that the manifest lists by its exact name is never meant.
 */
export function withFileNames(manifest: Manifest, files: ReadonlySet<string>): Manifest {
  const { digests, written } = manifest;
  if ([...digests.keys()].every((path) => files.has(path))) return manifest;
  const unlisted = [...files].filter((name) => !digests.has(name));
  const normalized = new Map(unlisted.map((name) => [name.normalize('NFC'), name]));
  const renamed = new Map<string, string>();
  const warnings = new Map(manifest.warnings);
  for (const [path, digest] of digests) {
    const raw = written.get(path) ?? path;
    const names = [path, raw, decodePath(raw, true)].map((name) => normalized.get(name.normalize('NFC')));
    const meant = files.has(path) ? path : names.find((name) => name !== undefined && !renamed.has(name));
    if (meant !== undefined && meant !== path) warnings.set(meant, `listed as ${JSON.stringify(path)}`);
    renamed.set(meant ?? path, digest);
  }
  return { ...manifest, digests: renamed, warnings };
}

/**
 * Compares files with a manifest. `actual` has the digest of each existing file. `mustListAll` is true for payload
 * manifests, which must list all files, and false for tag manifests.
 */
function compareManifest(
  manifest: Manifest,
  actual: ReadonlyMap<string, string>,
  mustListAll: boolean,
): ManifestFinding[] {
  const { name, algorithm, digests } = manifest;
  const findings: ManifestFinding[] = [];
  for (const [path, expected] of digests) {
    const found = actual.get(path);
    const state = found === undefined ? 'missing' : found === expected ? 'intact' : 'changed';
    findings.push({ path, state, manifest: name, algorithm, expected, actual: found });
  }
  if (!mustListAll) return findings;
  for (const [path, found] of actual) {
    if (digests.has(path)) continue;
    findings.push({ path, state: 'unlisted', manifest: name, algorithm, expected: undefined, actual: found });
  }
  return findings;
}
