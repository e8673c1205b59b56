/**
 * Checks a file's path inside a pack. Every system must be able to write it and every BagIt reader to read it. Returns a
 * sentence that says what is wrong, or undefined.
 */
export function filePathFault(path: string): string | undefined {
  if (path === '' || isLonger(path, MAX_PATH_BYTES))
    return `A path must be 1 to ${MAX_PATH_BYTES} bytes long.`;
  if (path.normalize('NFC') !== path) return 'A path must be in Unicode normal form C.';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return 'A path must not contain control characters.';
  if (path.includes('\\')) return 'A path must use / instead of a backslash.';
  if (path.includes('%')) return 'A path must not contain %, which some BagIt readers misread.';
  for (const segment of path.split('/')) {
    const fault = segmentFault(segment);
    if (fault) return fault;
  }
  return undefined;
}

/**
 * Checks a path that somebody gives a file now. Beside what `filePathFault` finds, it may have nothing that a reader does not
 * see. Packs that exist may: they cannot change.
 */
export function newPathFault(path: string): string | undefined {
  return filePathFault(path) ?? hiddenFault(path);
}

/** Says that a path has something that a reader does not see. */
export function hiddenFault(path: string): string | undefined {
  const hidden = HIDDEN.exec(path)?.[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return hidden && `A path must not contain the invisible character U+${hidden}. Rename the file without it.`;
}

/** Scripts that are written with joiners, and emoji. Between two of these, a joiner changes what is seen. */
const JOINED = String.raw`[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]`;
const JOINER = String.raw`[\u200c\u200d]`;

/**
 * Characters that are not seen, or only in the order of others: format characters (direction, zero width, soft hyphen, tags),
 * line separators and fillers. Format characters that are drawn, such as U+0600, may be in a path, and so may joiners where
 * the script needs them (UAX #31, section 2.3).
 */
const HIDDEN = new RegExp(
  String.raw`(?=\p{Default_Ignorable_Code_Point})(?!(?<=${JOINED})${JOINER}${JOINED})\p{Cf}|[\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0\ufff9-\ufffb]`,
  'u',
);

/** Returns the path without what `newPathFault` calls invisible. */
export function withoutHidden(path: string): string {
  return path.replace(new RegExp(HIDDEN, 'gu'), '');
}

/** Returns a path for a message, with its invisible characters as code points. */
export function shownPath(path: string): string {
  const hidden = (character: string) =>
    `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`;
  return `“${path.replace(new RegExp(HIDDEN, 'gu'), hidden)}”`;
}

const MAX_PATH_BYTES = 1024;

/** Compares the length in UTF-8. A code unit has one to three bytes, so few texts must be encoded to know. */
function isLonger(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}

function segmentFault(segment: string): string | undefined {
  if (segment === '') return 'A path must be relative, without empty segments.';
  if (segment === '.' || segment === '..') return 'A path must not contain . or .. segments.';
  if (/[<>:"|?*]/.test(segment)) return 'A path must not contain < > : " | ? or *, which Windows forbids.';
  if (/[. ]$/.test(segment)) return 'A segment must not end with a dot or a space, which Windows forbids.';
  if (/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\.|$)/i.test(segment)) {
    return `${segment} is a device name on Windows.`;
  }
  return undefined;
}

/** Returns the same text for paths that a case-insensitive file system treats as equal. */
export function foldedPath(path: string): string {
  return path.normalize('NFD').toUpperCase().toLowerCase().normalize('NFC');
}

/**
 * Like `foldedPath`, for the files of a new pack. A capital ẞ is equal to ß and ss, as in full case folding; `foldedPath`
 * takes it for a letter of its own, and packs that exist may have both. Joiners do not tell two paths apart.
 */
export function foldedNewPath(path: string): string {
  return foldedPath(path.replaceAll('ẞ', 'ß').replace(/[\u200c\u200d]/g, ''));
}

/** Two paths, by their positions in a list, that cannot both be files in one folder. */
export interface PathConflict {
  index: number;
  other: number;
  /** `same`: the paths are equal. `folder`: the path at `index` is a file, and the other needs a folder there. */
  kind: 'same' | 'folder';
}

/**
 * Finds paths that would overwrite each other on some systems, among the files of any pack. It sorts the paths, because looking up every folder of
 * every path would mean more than a million folders for the deepest valid paths.
 */
export function pathConflicts(paths: readonly string[]): PathConflict[] {
  return conflictsOf(paths, foldedPath);
}

/** Finds what `pathConflicts` does among the files of a new pack, and paths that differ only in ẞ or in joiners. */
export function newPathConflicts(paths: readonly string[]): PathConflict[] {
  return conflictsOf(paths, foldedNewPath);
}

function conflictsOf(paths: readonly string[], fold: (path: string) => string): PathConflict[] {
  // With NUL instead of the slash (no path contains NUL), a file sorts directly before the files in a folder of its name.
  const sorted = paths.map((path, index) => ({ index, folded: fold(path).replaceAll('/', '\0') }));
  sorted.sort((left, right) =>
    left.folded === right.folded ? left.index - right.index : left.folded < right.folded ? -1 : 1,
  );
  const conflicts: PathConflict[] = [];
  for (const [place, { index, folded }] of sorted.entries()) {
    const next = sorted[place + 1];
    if (next?.folded === folded) conflicts.push({ index: next.index, other: index, kind: 'same' });
    else if (next?.folded.startsWith(`${folded}\0`))
      conflicts.push({ index, other: next.index, kind: 'folder' });
  }
  return conflicts;
}

/**
 * Compares paths by their UTF-8 bytes, which is the order of their code points. UTF-16 code units have the same order
 * except for surrogates: they are below U+E000, but the characters that they encode are above.
 */
export function compareByUtf8(left: string, right: string): number {
  if (!SURROGATE.test(left) && !SURROGATE.test(right)) return left < right ? -1 : left > right ? 1 : 0;
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = codePointRank(left.charCodeAt(index)) - codePointRank(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

const SURROGATE = /[\ud800-\udfff]/;

function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
