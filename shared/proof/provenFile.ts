import type { About } from './about.ts';
import { type Claim, type ClaimId, type Decision, decide, type Format } from './verdict.ts';

/** What was found of a file that proves itself, or that is proven by what lies beside it. */
export interface ProvenFile extends Decision {
  claims: readonly Claim[];
  about?: About | undefined;
  /** Why it is not intact; else what is said of it, if anything. */
  detail: string;
}

/** Judges what is claimed of a file. @param detail what is said of it if it is intact */
export function provenFile<Of extends Format>(
  format: Of,
  claims: readonly Claim<ClaimId<Of>>[],
  { detail = '', about }: { detail?: string | undefined; about?: About | undefined } = {},
): ProvenFile {
  const decision = decide(format, claims);
  const reasons = new Set(decision.because.map(({ name, detail: why }) => `${name} ${why}`.trim()));
  return { ...decision, claims, about, detail: reasons.size > 0 ? [...reasons].join(' ') : detail };
}

/**
 * Compares the key that signed a file with the one that the caller named, if any. A file with another signer is unsigned,
 * because anybody can sign a file with a key of their own, under any name. So is a file that only names the key.
 *
 * @param by the key that the file names, and whether a signature by it holds
 */
export function namedKeyClaims(
  by: { key: string | undefined; isSigned: boolean },
  named: string | undefined,
): Claim<'key'>[] {
  if (named === undefined || by.key === undefined) return [];
  const name = 'The key that was named signed it.';
  if (by.key === named && by.isSigned) return [{ id: 'key', name, state: 'holds', detail: '' }];
  const why = by.isSigned
    ? `It did not: the signature is by ${by.key}.`
    : `No signature was verified. The file names the key ${by.key}.`;
  return [{ id: 'key', name, state: 'unproven', detail: why }];
}
