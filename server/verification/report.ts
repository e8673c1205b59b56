import type { About } from '../../shared/proof/about.ts';
import { type ProvenFile, provenFile } from '../../shared/proof/provenFile.ts';
import { type Claim, type ClaimId, type Format, type Verdict } from '../../shared/proof/verdict.ts';

/** The result for one file. */
type FileState = 'intact' | 'changed' | 'missing' | 'unknown' | 'unsigned';

/** A verified file and its result. */
export interface Finding {
  /** The path as the caller named it. For a file in a pack file: the path of the pack file, then the path in it. */
  path: string;
  /**
   * `unknown`: nothing says what the file should be, or it could not be read or checked. `unsigned`: it proves itself, but
   * no valid signature covers it.
   */
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
  /** Of a file that proves itself: what is said of it, and the claims for that. `altered` is the state `changed`. */
  verdict?: Verdict;
  claims?: readonly Claim[];
  about?: About;
}

export interface Summary {
  ok: boolean;
  intact: number;
  changed: number;
  missing: number;
  unknown: number;
  /** Absent if no file is unsigned. */
  unsigned?: number;
}

/** Creates a finding; members that are not given are null. */
export function finding(path: string, state: FileState, rest: Partial<Finding> = {}): Finding {
  return { path, state, sha256: null, expected: null, against: null, detail: null, ...rest };
}

const STATES: Readonly<Record<Verdict, FileState>> = {
  intact: 'intact',
  altered: 'changed',
  unsigned: 'unsigned',
  unknown: 'unknown',
};

/** Creates the finding of a file that proves itself, from its claims. Its detail says why it is not intact, if it is not. */
export function proofFinding<Of extends Format>(
  path: string,
  format: Of,
  claims: readonly Claim<ClaimId<Of>>[],
  { detail, about, ...rest }: Partial<Finding> = {},
): Finding {
  return provenFinding(path, provenFile(format, claims, { detail: detail ?? undefined, about }), rest);
}

/** Creates the finding of a file from what it proves, or from the sentence that says why nothing can be verified of it. */
export function provenFinding(
  path: string,
  proven: ProvenFile | string,
  { sha256 = null, expected = null, against = null }: Partial<Finding>,
): Finding {
  if (typeof proven === 'string')
    return finding(path, 'unknown', { sha256, verdict: 'unknown', detail: proven });
  const { verdict, claims, about, detail } = proven;
  const said = { detail: detail === '' ? null : detail, verdict, claims, ...(about && { about }) };
  return finding(path, STATES[verdict], { sha256, expected, against, ...said });
}

/** Counts findings. Without any finding, the summary is not `ok`. */
export class Tally {
  readonly #counts = { intact: 0, changed: 0, missing: 0, unknown: 0, unsigned: 0 };

  add({ state }: Finding): void {
    this.#counts[state] += 1;
  }

  get summary(): Summary {
    const { unsigned, ...counts } = this.#counts;
    const { intact, changed, missing, unknown } = counts;
    const ok = intact > 0 && changed + missing + unknown + unsigned === 0;
    return { ok, ...counts, ...(unsigned > 0 && { unsigned }) };
  }
}

/** 0: everything is intact. 3: nothing is wrong, but something is unsigned. 1: anything else. */
export function exitCodeOf({ ok, changed, missing, unknown, unsigned = 0 }: Summary): 0 | 1 | 3 {
  if (ok) return 0;
  return unsigned > 0 && changed + missing + unknown === 0 ? 3 : 1;
}
