import { instantOf } from '../values/clock.ts';
import { countOf } from '../values/counts.ts';
import { inQuotes } from '../values/quotes.ts';
import type { About } from './about.ts';
import type { ProofCrypto } from './crypto/algorithms.ts';
import { areWordsOnlyClaimed } from './evidence/checkFinding.ts';
import { judge, requireThat } from './evidence/evidence.ts';
import { sizeOf } from './evidence/evidenceFiles.ts';
import type { KnownPage } from './evidence/evidencePage.ts';
import { verifyEvidence } from './evidence/verifyEvidence.ts';
import { parseCheckpoint } from './ledger/signedNote.ts';
import { verifyTimestamp } from './ledger/timestamp.ts';
import { subjectIn } from './names.ts';
import { type ProvenFile, provenFile } from './provenFile.ts';
import { type Claim, isSigned } from './verdict.ts';
import { shownPath } from './words.ts';

/**
 * Judges an evidence file, also whether it is of what its name says; undefined if no evidence is in it.
 *
 * @param alsoOf what is also claimed of it, such as by its place; `about.key` is only named if nothing is signed
 */
export function provenEvidence(
  { name, bytes }: { name: string; bytes: Uint8Array },
  pages: readonly KnownPage[],
  crypto: ProofCrypto,
  alsoOf: (about: About, isSigned: boolean) => readonly Claim<'place' | 'key'>[] = () => [],
): ProvenFile | undefined {
  const checked = verifyEvidence(bytes, pages, crypto);
  if (!checked) return undefined;
  const { about, set } = checked;
  const also = about && [
    ...namedClaims(name, about),
    ...alsoOf(about, isSigned('evidence_file', checked.claims)),
  ];
  const claims = [...checked.claims, ...(also ?? [])];
  const holding = claims.filter(({ state }) => state === 'holds').length;
  const covered = set ? `; they cover the ${sizeOf(set)} of the set` : '';
  const words = areWordsOnlyClaimed(checked.claims)
    ? '; that the quoted words are in the bytes is only claimed'
    : '';
  const detail = `${countOf(holding, 'claim holds', 'claims hold')}${covered}${words}`;
  return provenFile('evidence_file', claims, { detail, about });
}

/** A node names evidence by what it is of. Genuine evidence of something else could otherwise take its place. */
function namedClaims(name: string, { subject }: About): Claim<'place'>[] {
  const named = subjectIn(name);
  if (named === undefined) return [];
  return [
    judge('place', 'It is the evidence that its name says.', '', () => {
      const isNamed = subject === named || subject.startsWith(`${named} of `);
      requireThat(isNamed, `It is not the evidence of ${named}.`);
    }),
  ];
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
    const missing = `the stamped text ${shownPath(textFile)} is missing`;
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
    `${shownPath(against)} existed before ${instantOf(found.at)} (${what}), according to ${inQuotes(found.signer)}; check its certificate with openssl ts -verify -CAfile`;
  return provenFile('timestamp', [text, signature, ...place], { detail });
}
