import {
  ARCHIVE_BAG,
  bagKindOf,
  DECLARATION_FILE,
  isPackFileName,
  RECORD_FILE,
  SEAL_FILE,
} from '../archive/bagFiles.ts';

/*
 * What a file or a folder says by its name that it is. People find an event, a pack or a case by such names, so each is a claim:
 * something genuine, but other, could otherwise take its place. Names are compared as they look, and with what browsers and file
 * managers add to the name of a copy.
 */

/** No letter of the names, but one that may look like it, also where normalization keeps it. */
const FOREIGN = String.raw`(?:(?!\p{ASCII})[\p{L}\p{N}\p{P}\p{S}])`;
/** What copies of a file have in addition: `(1)`, `(copy)`, ` 2`, ` - Copy`. Longer words may be of another thing. */
const MARK = String.raw`(?:[\s._-]*\([^()]*\)|[\s._-]+(?:\d{1,3}|copy)(?![\p{L}\p{N}]))`;

/** A pattern for a text and whatever looks like it. */
function alike(text: string): string {
  return text.replace(/./g, (character) => `(?:[${character}]|${FOREIGN})`);
}

/** A pattern for a word and whatever looks like it. Without a letter of this language, it is a word of another one. */
function word(text: string): string {
  return `(?=.{0,${text.length - 1}}[a-z])${alike(text)}`;
}

// The marks before an ending belong to it, so that many of them can be read in one way only.
const OF_EVIDENCE = `${MARK}*[\\s._-]*${alike('.evidence')}(?:${MARK}*${alike('.htm')}${alike('l')}?)?${MARK}*$`;
// The point is no other sign, so that a long name can be read in one way only.
const OF_BAG = `(?:${MARK}|[\\s._-]*\\.(?:${alike('pack')}|${alike('zip')}))*[\\s._-]*$`;

export type NamedFormat = 'evidence' | (typeof ENDINGS)[number][0];

/** The formats that files have by their endings. */
const ENDINGS = [
  ['checkpoint', 'checkpoint'],
  ['dump', 'jsonl'],
  ['proof', 'tlog-proof'],
  ['timestamp', 'tsr'],
  ['wacz', 'wacz'],
] as const;
const EVIDENCE = new RegExp(`[.]evidence${MARK}*[.]html?${MARK}*$`, 'u');
/** Matches each ending in a group of its own, also of a copy. */
const ENDING = new RegExp(
  `(?:^|[.])(?:${ENDINGS.map(([, text]) => `(${word(text)})`).join('|')})${MARK}*$`,
  'u',
);

/** A pattern for the name of a file, its ending, and the copies of both. */
function fileNamed(name: string, ending: string): string {
  return `^${name}${MARK}*[\\s._-]*${alike(ending)}${MARK}*$`;
}

/** What a node writes with endings that other software uses too. The page Ledger saves a checkpoint with node and size. */
const OWN_FILE = new RegExp(
  [
    fileNamed(word('dump'), '.jsonl'),
    fileNamed(word('log'), '.checkpoint'),
    fileNamed(`.*${word('strongroom')}-\\d+`, '.checkpoint'),
  ].join('|'),
  'u',
);

interface Form {
  /** Matches the name, with the id in the first group. */
  exact: RegExp;
  /** Also matches what is no such name and may look like one, with that in the first group. */
  alike: RegExp;
}

/**
 * Ids of 20 digits. A letter of the prefix or four such digits are enough to tell a name that imitates one from words of another
 * language.
 */
function hexForm(prefix: string, rest: string, before = ''): Form {
  const isImitated = `(?=.{0,${prefix.length - 1}}[a-z]|(?:.*?[0-9a-f]){4})`;
  const digits = `(?:[0-9a-filo]|${FOREIGN}){20}`;
  return {
    exact: new RegExp(`^(?:${before})?(${prefix}[0-9a-f]{20})(?![\\p{L}\\p{N}])${rest}`, 'u'),
    alike: new RegExp(
      `^${isImitated}((?:${alike(before)})?${alike(prefix)}${digits})(?![\\p{L}\\p{N}])${rest}`,
      'u',
    ),
  };
}

/**
 * The number of an event. In other languages, words that are as long as `event` stand before numbers too. After `event-`, whatever
 * has no sign of this language may look like a number, however long it is.
 */
const EVENT: Form = {
  exact: new RegExp(`^event-(\\d+)(?![\\p{L}\\p{N}])${OF_EVIDENCE}`, 'u'),
  alike: new RegExp(
    `^(?=.{0,4}[a-z])(${alike('event-')}(?=[ilo]*(?:\\d|${FOREIGN}))(?:[\\dilo]|${FOREIGN})+)(?![\\p{L}\\p{N}])${OF_EVIDENCE}`,
    'u',
  ),
};
const PACK_EVIDENCE = hexForm('pk_', OF_EVIDENCE);
const FINDING_EVIDENCE = hexForm('fi_', OF_EVIDENCE);
const PACK = hexForm('pk_', OF_BAG);
const CASE = hexForm('ca_', OF_BAG, 'strongroom-case-');
/** All exported archives have one name. */
const ARCHIVE = new RegExp(`^${word(ARCHIVE_BAG.folder)}(?![\\p{L}\\p{N}])${OF_BAG}`, 'u');

/** Returns what a name says by a form; what only looks like it is called so, and is never what an id is. */
function saidBy(form: Form, shown: string, what = ''): string | undefined {
  const [, id] = form.exact.exec(shown) ?? [];
  if (id !== undefined) return what + id;
  const [, other] = form.alike.exec(shown) ?? [];
  return other && `what only looks like ${writtenOut(other)}`;
}

function subjectOf(shown: string): string | undefined {
  return (
    saidBy(EVENT, shown, 'event ') ??
    saidBy(PACK_EVIDENCE, shown, 'pack ') ??
    saidBy(FINDING_EVIDENCE, shown, 'finding ')
  );
}

/** The last part of a path, without what only changes how it is written: width and case of letters, marks, hidden characters. */
function asShown(name: string): string {
  const base = name.replace(/(?<![/\\])[/\\]+$/, '').replace(/^.*[/\\]/su, '');
  return base
    .normalize('NFKD')
    .replace(/[\p{M}\p{DI}\p{Cf}]/gu, '')
    .toLowerCase()
    .replace(/^(?:\s|copy of )+/, '')
    .trimEnd();
}

/** Writes out what looks like something else. */
function writtenOut(text: string): string {
  return text.replace(/\P{ASCII}/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The subject that a node gives this name to when it writes evidence; undefined for any other name. */
export function subjectIn(name: string): string | undefined {
  return subjectOf(asShown(name));
}

/** Returns the format that a file has by its name, also if that only looks like one, or is that of a copy. */
export function formatIn(name: string): NamedFormat | undefined {
  const shown = asShown(name);
  if (EVIDENCE.test(shown) || subjectOf(shown) !== undefined) return 'evidence';
  const [, ...endings] = ENDING.exec(shown) ?? [];
  return ENDINGS[endings.findIndex((found: string | undefined) => found !== undefined)]?.[0];
}

/** Returns the pack that a folder or file is by its name, or undefined. */
export function packIn(name: string): string | undefined {
  return saidBy(PACK, asShown(name));
}

/** Returns the case whose bag a folder or file is by its name, or undefined. */
export function caseIn(name: string): string | undefined {
  const shown = asShown(name);
  // A prefix of which no letter is ASCII may look like either.
  return saidBy(PACK, shown) === undefined ? saidBy(CASE, shown) : undefined;
}

/** Whether a folder or file is an exported archive by its name, or looks like one. */
export function isArchiveName(name: string): boolean {
  return ARCHIVE.test(asShown(name));
}

/**
 * Whether other software gives such names too: the lines of a data set or a log (`.jsonl`), a saved model (`checkpoint`), any ZIP. If
 * a list names such a file, and it is none of ours, it is what somebody listed.
 */
export function isCommonName(name: string): boolean {
  if (bagKindIn(name) !== undefined) return false;
  const format = formatIn(name);
  if (format === undefined) return true;
  return (format === 'dump' || format === 'checkpoint') && !OWN_FILE.test(asShown(name));
}

/** Whether a file is a pack file by its name. */
export function isPackZip(name: string): boolean {
  return isPackFileName(name) || (/\.zip$/i.test(name) && packIn(name) !== undefined);
}

/** Returns which bag of this program a folder or file is by its name; undefined if it need not be one. */
export function bagKindIn(name: string): 'pack' | 'case' | 'archive' | undefined {
  const shown = asShown(name);
  if (isPackFileName(name) || saidBy(PACK, shown) !== undefined) return 'pack';
  if (saidBy(CASE, shown) !== undefined) return 'case';
  return ARCHIVE.test(shown) ? 'archive' : undefined;
}

/** Whether two names say that they are one bag of this program. */
export function nameOneBag(name: string, other: string): boolean {
  const kind = bagKindIn(name);
  const isSame =
    kind === bagKindIn(other) && packIn(name) === packIn(other) && caseIn(name) === caseIn(other);
  return kind !== undefined && isSame;
}

/** Returns the files without which a bag or a folder is not what the names of its folder and its file say. */
export function lackingIn(files: { has(name: string): boolean }, names: readonly string[]): string[] {
  const kinds = new Set(names.map(bagKindIn));
  const needed: string[] = [];
  if (kinds.has('pack')) needed.push(RECORD_FILE);
  if (kinds.has('case') && bagKindOf(files) !== 'case') needed.push(SEAL_FILE);
  if (kinds.has('archive')) needed.push(ARCHIVE_BAG.dump);
  // A pack need not be a bag.
  if (kinds.has('case') || kinds.has('archive')) needed.push(DECLARATION_FILE);
  return needed.filter((name) => !files.has(name));
}
