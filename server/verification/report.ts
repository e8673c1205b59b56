/** The result for one file. */
type FileState = 'intact' | 'changed' | 'missing' | 'unknown';

/** A verified file and its result. */
export interface Finding {
  /** The path as the caller named it. For a file in a pack file: the path of the pack file, then the path in it. */
  path: string;
  /** `unknown`: nothing says what the file should be, or it could not be read. */
  state: FileState;
  /** The digest of its bytes; null if they were not read. */
  sha256: string | null;
  /** The expected digest, if there is one. */
  expected: string | null;
  /** The origin of the expected digest: a list, a manifest, a record, the file's own name, or an archive. */
  against: string | null;
  /** An explanation. */
  detail: string | null;
  /** The number of the invalid line, if the file is a dump. */
  line?: number;
}

export interface Summary {
  ok: boolean;
  intact: number;
  changed: number;
  missing: number;
  unknown: number;
}

/** Creates a finding; members that are not given are null. */
export function finding(path: string, state: FileState, rest: Partial<Finding> = {}): Finding {
  return { path, state, sha256: null, expected: null, against: null, detail: null, ...rest };
}

/** Counts findings. Without any finding, the summary is not `ok`. */
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
