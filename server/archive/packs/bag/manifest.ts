import { Problem } from '../../../../shared/problems.ts';

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
export interface Manifest {
  /** The name of its file. */
  name: string;
  algorithm: string;
  digests: Map<string, string>;
  /** The paths as they are written, if they contain a percent sign. */
  written: Map<string, string>;
  /** Peculiarities that other readers may not accept, by path. */
  warnings: Map<string, string>;
}

export interface ManifestRules {
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
export async function parseManifest(
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
export function compareManifest(
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
