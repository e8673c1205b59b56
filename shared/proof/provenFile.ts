import { instantOf } from '../values/clock.ts';
import { countOf } from '../values/counts.ts';
import type { About } from './about.ts';
import type { ProofCrypto } from './algorithms.ts';
import { judge } from './evidence.ts';
import { sizeOf } from './evidenceFiles.ts';
import type { KnownPage } from './evidencePage.ts';
import { parseCheckpoint } from './signedNote.ts';
import { verifyTimestamp } from './timestamp.ts';
import { type Claim, type ClaimId, type Decision, decide, type Format } from './verdict.ts';
import { verifyEvidence } from './verifyEvidence.ts';

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
 * Compares the key that signed a file with the one that the caller named, if any. A file that somebody else signed is unsigned:
 * whoever wants to can sign anything with a key of their own, under any name.
 */
export function namedKeyClaims(signer: string | undefined, named: string | undefined): Claim<'key'>[] {
  if (named === undefined || signer === undefined) return [];
  const name = 'The key that was named signed it.';
  return signer === named
    ? [{ id: 'key', name, state: 'holds', detail: '' }]
    : [{ id: 'key', name, state: 'unproven', detail: `It did not: the signature is by ${signer}.` }];
}

/**
 * Judges an evidence file; undefined if no evidence is in it.
 *
 * @param alsoOf what is also claimed of it, such as by its place
 */
export function provenEvidence(
  bytes: Uint8Array,
  pages: readonly KnownPage[],
  crypto: ProofCrypto,
  alsoOf: (about: About) => readonly Claim<'place' | 'key'>[] = () => [],
): ProvenFile | undefined {
  const checked = verifyEvidence(bytes, pages, crypto);
  if (!checked) return undefined;
  const { about, set } = checked;
  const claims = [...checked.claims, ...(about ? alsoOf(about) : [])];
  const holding = claims.filter(({ state }) => state === 'holds').length;
  const covered = set ? `; they cover the ${sizeOf(set)} of the set` : '';
  const detail = `${countOf(holding, 'claim holds', 'claims hold')}${covered}`;
  return provenFile('evidence_file', claims, { detail, about });
}

/**
 * Judges the reply of a timestamp authority, with the stamped text if that is at hand.
 *
 * @param place what the place of the file claims of what it is
 */
export function provenTimestamp(
  reply: Uint8Array,
  stamped: Uint8Array | undefined,
  textFile: string,
  crypto: ProofCrypto,
  place: readonly Claim<'place'>[] = [],
): ProvenFile {
  const name = 'The authority signed that the stamped text existed.';
  if (!stamped) {
    const missing = `the stamped text ${textFile} is missing`;
    return provenFile('timestamp', [{ id: 'text', name, state: 'unproven', detail: missing }]);
  }
  let found: { at: number; signer: string } | undefined;
  const signature = judge('signature', name, '', () => {
    found = verifyTimestamp(reply, stamped, crypto);
  });
  const against = textFile.slice(textFile.lastIndexOf('/') + 1);
  const text = { id: 'text', name: 'The stamped text is there.', state: 'holds', detail: against } as const;
  const head = parseCheckpoint(new TextDecoder().decode(stamped));
  const what = head ? countOf(head.size, 'entry', 'entries') : 'no checkpoint';
  const detail =
    found &&
    `${against} existed before ${instantOf(found.at)} (${what}), according to ${found.signer}; check its certificate with openssl ts -verify -CAfile`;
  return provenFile('timestamp', [text, signature, ...place], { detail });
}
