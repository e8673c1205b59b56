/**
 * The rule for a file's path inside a pack: a path that every system can write and every bag reader can read.
 * Answers the sentence that says what is wrong, or undefined.
 */
export function filePathFault(path: string): string | undefined {
  const bytes = new TextEncoder().encode(path).length;
  if (bytes < 1 || bytes > MAX_PATH_BYTES) return `A path is 1 to ${MAX_PATH_BYTES} bytes long.`;
  if (path.normalize('NFC') !== path) return 'A path must be in Unicode normal form C.';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return 'A path may hold no control character.';
  if (path.includes('\\')) return 'A path is written with / and no backslash.';
  if (path.includes('%')) return 'A path may hold no %: some readers of bags stumble on it.';
  for (const segment of path.split('/')) {
    const fault = segmentFault(segment);
    if (fault) return fault;
  }
  return undefined;
}

const MAX_PATH_BYTES = 1024;

function segmentFault(segment: string): string | undefined {
  if (segment === '') return 'A path is relative and has no empty segment.';
  if (segment === '.' || segment === '..') return 'A path has no . or .. segment.';
  if (/[<>:"|?*]/.test(segment)) return 'A path may hold none of < > : " | ? *, which Windows forbids.';
  if (/[. ]$/.test(segment)) return 'No segment of a path ends in a dot or a space, which Windows forbids.';
  if (/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\.|$)/i.test(segment)) {
    return `${segment} is a device name on Windows.`;
  }
  return undefined;
}

/** What two paths have in common when a file system that ignores case would take them for one. */
export function foldedPath(path: string): string {
  return path.normalize('NFD').toUpperCase().toLowerCase().normalize('NFC');
}

const encoder = new TextEncoder();

/** Orders paths by their UTF-8 bytes, which is the order of their code points. */
export function compareByUtf8(left: string, right: string): number {
  const a = encoder.encode(left);
  const b = encoder.encode(right);
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
