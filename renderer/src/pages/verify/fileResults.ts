import type { FoundDigest } from '../../../../shared/archive/lookup.ts';
import type { ChecksumEntry } from '../../../../shared/values/checksums.ts';

/** What is known of a dropped file. */
export type Verdict =
  /** Not read yet, or being read. */
  | 'waiting'
  /** Its digest is the one that a dropped list gives. */
  | 'intact'
  /** A dropped list gives another digest. */
  | 'changed'
  /** In no list, but the archive has these bytes. */
  | 'in_archive'
  /** In no list, and the archive does not have these bytes. */
  | 'unknown'
  /** In no list, and the archive could not be asked yet. */
  | 'pending'
  /** A list names it, and it was not dropped. */
  | 'missing'
  | 'unreadable';

/** One dropped file, or one line of a list whose file was not dropped. */
export interface FileResult {
  path: string;
  bytes: number | null;
  sha256: string | null;
  /** The digest that a list gives, and the list's name. */
  expected: string | null;
  list: string | null;
  verdict: Verdict;
  found: FoundDigest | null;
  /** Why it could not be read. */
  error: string | null;
}

/** A dropped list with its name and lines. */
export interface DroppedList {
  path: string;
  entries: readonly ChecksumEntry[];
  faults: readonly number[];
}

/** Returns a path without `./`, with `/` as separator. */
function plainPath(path: string): string {
  return path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '');
}

/**
 * Finds the line of a list for each file. A name in a list is relative to the folder of the list, or to the dropped
 * folder, or it is a name without folders that only one dropped file has.
 */
export class ListIndex {
  readonly #lists: readonly DroppedList[];
  readonly #byPath = new Map<string, { entry: ChecksumEntry; list: DroppedList }>();
  readonly #byName = new Map<string, { entry: ChecksumEntry; list: DroppedList } | null>();

  constructor(lists: readonly DroppedList[]) {
    this.#lists = lists;
    for (const list of lists) {
      const folder = list.path.slice(0, list.path.lastIndexOf('/') + 1);
      for (const entry of list.entries) {
        const name = plainPath(entry.name);
        this.#byPath.set(folder + name, { entry, list });
        if (!this.#byPath.has(name)) this.#byPath.set(name, { entry, list });
        const last = name.slice(name.lastIndexOf('/') + 1);
        this.#byName.set(last, this.#byName.has(last) ? null : { entry, list });
      }
    }
  }

  lineFor(path: string): { entry: ChecksumEntry; list: DroppedList } | undefined {
    const plain = plainPath(path);
    const direct = this.#byPath.get(plain);
    if (direct) return direct;
    const inside = this.#byPath.get(plain.slice(plain.indexOf('/') + 1));
    return inside ?? this.#byName.get(plain.slice(plain.lastIndexOf('/') + 1)) ?? undefined;
  }

  /** Returns the lines whose files are not among these paths. */
  missing(paths: Iterable<string>): { entry: ChecksumEntry; list: DroppedList }[] {
    const seen = new Set<ChecksumEntry>();
    for (const path of paths) {
      const line = this.lineFor(path);
      if (line) seen.add(line.entry);
    }
    return this.#lists.flatMap((list) =>
      list.entries.filter((entry) => !seen.has(entry)).map((entry) => ({ entry, list })),
    );
  }
}

/** Judges a file that was hashed. Lists count first: what they say is about this file, not about any bytes. */
export function judge(
  sha256: string,
  expected: string | null,
  found: FoundDigest | null | undefined,
): Verdict {
  if (expected !== null) return expected === sha256 ? 'intact' : 'changed';
  if (found === undefined) return 'pending';
  return found ? 'in_archive' : 'unknown';
}

export const VERDICT_WORDS: Record<Verdict, string> = {
  waiting: 'Waiting',
  intact: 'Intact',
  changed: 'Changed',
  in_archive: 'In the archive',
  unknown: 'Not in the archive',
  pending: 'Look-up pending',
  missing: 'Missing',
  unreadable: 'Unreadable',
};

/** The order in which results are listed: what needs attention first. */
export const VERDICT_ORDER: readonly Verdict[] = [
  'changed',
  'missing',
  'unreadable',
  'unknown',
  'pending',
  'waiting',
  'intact',
  'in_archive',
];

export function countVerdicts(results: readonly FileResult[]): Record<Verdict, number> {
  const counts = Object.fromEntries(VERDICT_ORDER.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}
