/** What verification says of a file. */
export type FileState = 'intact' | 'changed' | 'missing' | 'unknown';

/** One thing that was looked at, and what came of it. */
export interface Finding {
  /** Where it is, as the caller named it; a file in a pack file comes after the pack file's own path. */
  path: string;
  /** Unknown is whatever nothing vouches for: no list names it, nobody holds it, or it could not be read. */
  state: FileState;
  /** What its bytes hash to, where they were read. */
  sha256: string | null;
  /** What they should hash to, where something says so. */
  expected: string | null;
  /** What says so: a list, a manifest, a record, the file's own name, or an archive. */
  against: string | null;
  /** What else there is to say, in a sentence. */
  detail: string | null;
  /** The line of a dump that is wrong, where it is one. */
  line?: number;
}

export interface Summary {
  ok: boolean;
  intact: number;
  changed: number;
  missing: number;
  unknown: number;
}

/** A finding with nothing said that is not given. */
export function finding(path: string, state: FileState, rest: Partial<Finding> = {}): Finding {
  return { path, state, sha256: null, expected: null, against: null, detail: null, ...rest };
}

/** Counts what passes; nothing at all is not intact either. */
export class Tally {
  readonly #counts = { intact: 0, changed: 0, missing: 0, unknown: 0 };

  add({ state }: Finding): void {
    this.#counts[state] += 1;
  }

  get summary(): Summary {
    const { intact, changed, missing, unknown } = this.#counts;
    return { ok: intact > 0 && changed + missing + unknown === 0, ...this.#counts };
  }
}
