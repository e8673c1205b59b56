import { SET_FILE } from './setManifest.ts';

/** The names of the tag files that are written, and the folder of the payload. */
export const RECORD_FILE = 'pack.json';
export const CRATE_FILE = 'ro-crate-metadata.json';
/** What is said of such a file in a pack, and of `bag-info.txt`: nothing proves that it says what the record says. */
export const DESCRIBES_PACK = 'describes the pack to other programs; the record is what counts';
export const DECLARATION_FILE = 'bagit.txt';
/** The text of `bagit.txt`, exactly as readers expect it. */
export const DECLARATION = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';
export const INFO_FILE = 'bag-info.txt';
export const MANIFEST_FILE = 'manifest-sha256.txt';
export const TAG_MANIFEST_FILE = 'tagmanifest-sha256.txt';
export const FETCH_FILE = 'fetch.txt';
/** The seal of the bag of a case, and the case in it. */
export const SEAL_FILE = 'seal.txt';
export const CASE_FILE = 'data/case.json';
export const PAYLOAD_FOLDER = 'data/';

/**
 * Returns the folders in a ZIP that have this file, each with its slash: at its top level or in one folder. What lies deeper, or
 * among the data of a bag at the top level, is no bag of its own.
 */
export function bagRootsIn(paths: Iterable<string>, file = DECLARATION_FILE): string[] {
  const roots = new Set<string>();
  for (const path of paths) {
    const root = path.slice(0, -file.length);
    if (path === root + file && /^(?:[^/]+\/)?$/.test(root)) roots.add(root);
  }
  if (roots.has('')) roots.delete(PAYLOAD_FOLDER);
  return [...roots];
}

/**
 * Returns what gives the path of the file that a list means. Some programs give names another Unicode normalization; a file of
 * exactly the listed name comes first.
 */
export function fileNames(paths: Iterable<string>): (listed: string) => string {
  const all = new Set(paths);
  const normalized = new Map([...all].map((path) => [path.normalize('NFC'), path]));
  return (listed) => (all.has(listed) ? listed : (normalized.get(listed.normalize('NFC')) ?? listed));
}

/** The paths in the bag of an exported archive. */
export const ARCHIVE_BAG = {
  folder: 'strongroom-archive',
  payload: 'data/',
  dump: 'data/dump.jsonl',
  blobs: 'data/blobs/',
} as const;

/** The bags of this program, and the tag files that each has beside those of every bag. */
const BAGS = {
  case: { what: 'the bag of a case', tagFiles: [SEAL_FILE] },
  archive: { what: 'an exported archive', tagFiles: [] },
  pack: { what: 'a pack', tagFiles: [RECORD_FILE, CRATE_FILE] },
  /** The pack that lists the files of a set. In any other, `set.json` could hold any text. */
  set: { what: 'a pack', tagFiles: [RECORD_FILE, CRATE_FILE, SET_FILE] },
} as const satisfies Record<string, { what: string; tagFiles: readonly string[] }>;

export type BagKind = keyof typeof BAGS;

/** Says in words what a bag is. */
export function bagWords(kind: BagKind): string {
  return BAGS[kind].what;
}

const IN_EVERY_BAG: readonly string[] = [DECLARATION_FILE, INFO_FILE];
/** Those that can be read. Anybody could write any other text under the name of a manifest. */
const ANY_MANIFEST = /^(?:tag)?manifest-(?:md5|sha1|sha224|sha256|sha384|sha512)\.txt$/;

/** Returns which bag of this program it is; undefined for a bag of other software: only manifests say what is in that. */
export function bagKindOf(files: { has(name: string): boolean }): 'case' | 'pack' | undefined {
  if (files.has(SEAL_FILE) || files.has(CASE_FILE)) return 'case';
  return files.has(RECORD_FILE) ? 'pack' : undefined;
}

/**
 * Says of a file what it is not, if no bag of this kind has a file of this name: no seal and no record covers it, and anybody
 * can write manifests.
 */
export function strangerIn(kind: BagKind | undefined, name: string): string | undefined {
  if (kind === undefined || name.startsWith(PAYLOAD_FOLDER)) return undefined;
  const { what, tagFiles }: { what: string; tagFiles: readonly string[] } = BAGS[kind];
  const isKnown = IN_EVERY_BAG.includes(name) || ANY_MANIFEST.test(name) || tagFiles.includes(name);
  return isKnown ? undefined : `not a file of ${what}`;
}

/** Whether a file is a pack file by its name. Browsers number the second download of one name. */
export function isPackFileName(name: string): boolean {
  return /\.pack(?: ?\(\d+\))?\.zip$/i.test(name);
}
