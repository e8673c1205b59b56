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

/**
 * Parses a manifest. Each line has a digest, white space and a path.
 *
 * @throws Problem `manifest_mismatch` for an invalid line or a duplicate path.
 */
export async function parseManifest(
  name: string,
  algorithm: string,
  lines: AsyncIterable<readonly string[]>,
): Promise<Manifest> {
  const digests = new Map<string, string>();
  let number = 0;
  for await (const some of lines) {
    for (const line of some) {
      number += 1;
      const [, digest, path] = /^([0-9a-fA-F]+)[ \t]+\*?(.+)$/su.exec(line) ?? [];
      if (digest?.length !== ALGORITHMS[algorithm] || digest === undefined || path === undefined) {
        throw new Problem('manifest_mismatch', `Line ${number} of ${name} is not a digest and a path.`);
      }
      const decoded = decodePath(path);
      if (digests.has(decoded)) {
        throw new Problem('manifest_mismatch', `${name} lists ${JSON.stringify(decoded)} twice.`);
      }
      digests.set(decoded, digest.toLowerCase());
    }
  }
  return { name, algorithm, digests };
}

/** In manifests BagIt percent-encodes only line breaks and the percent sign itself. */
function decodePath(path: string): string {
  return path.replace(/%(0A|0D|25)/gi, (_whole, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
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
