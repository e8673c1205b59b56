import { Problem } from '../../../../shared/problems.ts';

/** The checksum algorithms of BagIt that are read, by the name in the manifest's file name, with their hex digits. */
export const ALGORITHMS: Readonly<Record<string, number>> = {
  md5: 32,
  sha1: 40,
  sha224: 56,
  sha256: 64,
  sha384: 96,
  sha512: 128,
};

/** A manifest as it was read: the digest that each path must have. */
export interface Manifest {
  /** Its file's name. */
  name: string;
  algorithm: string;
  digests: Map<string, string>;
}

/** How one file stands to a manifest. */
export interface ManifestFinding {
  path: string;
  state: 'intact' | 'changed' | 'missing' | 'unlisted';
  /** The manifest's file name. */
  manifest: string;
  algorithm: string;
  expected: string | undefined;
  actual: string | undefined;
}

/** What the name of a manifest says, or undefined where the name is no manifest's. */
export function manifestKind(name: string): { of: 'payload' | 'tags'; algorithm: string } | undefined {
  const match = /^(tag)?manifest-([a-z0-9-]+)\.txt$/.exec(name);
  const algorithm = match?.[2];
  return algorithm === undefined ? undefined : { of: match?.[1] ? 'tags' : 'payload', algorithm };
}

/**
 * Reads a manifest: a digest, white space and a path on each line, ended by LF, CR or both, the last end optional.
 *
 * @throws Problem `manifest_mismatch` for a line that says something else, or a path that is listed twice.
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
        throw new Problem('manifest_mismatch', `Line ${number} of ${name} is no digest and path.`);
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

/** BagIt percent-encodes in a manifest what would end the line, and the percent sign itself; nothing else. */
function decodePath(path: string): string {
  return path.replace(/%(0A|0D|25)/gi, (_whole, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/**
 * Compares files with a manifest of the payload, which must list all of them, or of tag files, which need not.
 * `actual` gives the digest of each file that is there.
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
