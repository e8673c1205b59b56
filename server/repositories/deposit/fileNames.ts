import { createHash } from 'node:crypto';

/**
 * Names files as a repository allows it. A name that had to be changed, or that another file has already, gets the first
 * digits of the digest of its path, before its ending.
 *
 * @param allowed returns the path with what is not allowed replaced
 */
export function uniqueNames(
  paths: readonly string[],
  allowed: (path: string) => string,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  // Names that can stay as they are come first.
  const inOrder = [...paths].sort(
    (left, right) => Number(allowed(left) !== left) - Number(allowed(right) !== right),
  );
  for (const path of inOrder) {
    const name = allowed(path);
    const isFree = name === path && !taken.has(name.toLowerCase());
    const given = isFree ? name : marked(name, path);
    taken.add(given.toLowerCase());
    names.set(path, given);
  }
  return names;
}

function marked(name: string, path: string): string {
  const mark = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const [, stem = name, ending = ''] = /^(.*?)(\.[A-Za-z0-9]{1,10})?$/su.exec(name) ?? [];
  return `${stem}-${mark}${ending}`;
}
