import canonicalize from 'canonicalize';
import type { ProofCrypto } from './algorithms.ts';
import { fromBase64, utf8 } from './bytes.ts';
import { type Claim, type Evidence, judge, requireThat, sha256 } from './evidence.ts';
import { verifyBy } from './signedNote.ts';

/** The parts of an evidence file that the node seals, each with the claim that its digest is the one in the seal. */
const SEALED_PARTS = {
  kind: 'The kind is as the node wrote it.',
  made_at: 'The time of this file is as the node wrote it.',
  key: 'The key is as the node wrote it.',
  witnesses: 'The keys of the witnesses are as the node wrote them.',
  recorded: 'The record and its proofs are as the node wrote them.',
  retrieval: 'The retrieval is as the node wrote it.',
  timestamps: 'The timestamps are as the node wrote them.',
  files: 'The files are as the node wrote them.',
  diff: 'The list of differences is as the node wrote it.',
  page: 'The page capture is as the node wrote it.',
  finding: 'The finding is as the node wrote it.',
  sealed: 'What sealed the finding is as the node wrote it.',
  seen_by: 'What peers signed is as the node wrote it.',
} as const satisfies Partial<Record<keyof Evidence, string>>;

type Part = keyof typeof SEALED_PARTS;

const OPTIONAL: ReadonlySet<Part> = new Set<Part>(['page', 'finding', 'sealed', 'seen_by']);

/**
 * Only the event of a page has a page capture, only the evidence of a passage a finding, which may have been sealed, and few events
 * were seen by a peer.
 */
function partsOf(evidence: Pick<Evidence, Part>): Part[] {
  const parts = Object.keys(SEALED_PARTS) as Part[];
  return parts.filter((part) => !OPTIONAL.has(part) || evidence[part] !== undefined);
}

/**
 * The text that the node signs: the SHA-256 of the canonical JSON of each part.
 *
 * @param known digests that were computed before
 */
export function sealText(
  evidence: Omit<Evidence, 'seal'>,
  crypto: ProofCrypto,
  known: Partial<Record<Part, string>> = {},
): `strongroom.${string}` {
  const lines = partsOf(evidence).map(
    (part) => `${part} ${known[part] ?? digestOf(evidence, part, crypto)}\n`,
  );
  return `strongroom.evidence\n${lines.join('')}`;
}

function digestOf(evidence: Omit<Evidence, 'seal'>, part: Part, crypto: ProofCrypto): string {
  return sha256(canonicalize(evidence[part]) ?? '', crypto);
}

/**
 * Checks that every part is as the node wrote it. What no proof covers, such as the list of differences, could otherwise be
 * changed unnoticed.
 */
export function checkSeal(evidence: Evidence, crypto: ProofCrypto): Claim[] {
  const { seal, key } = evidence;
  const claim = 'Every part of this file is as the node wrote it.';
  if (!seal) return [{ verdict: 'claimed', claim, detail: 'The node had no key to seal this file with.' }];
  const whole = judge(claim, 'The node signed the digest of each part.', () => {
    const isSigned = verifyBy(key, utf8(seal.text), fromBase64(seal.signature), crypto);
    requireThat(isSigned, 'The seal was altered: its signature does not match.');
    requireThat(seal.text === sealText(evidence, crypto), 'A part was altered.');
  });
  const altered = partsOf(evidence).filter(
    (part) => !seal.text.includes(`\n${part} ${digestOf(evidence, part, crypto)}\n`),
  );
  return [
    whole,
    ...altered.map(
      (part): Claim => ({
        verdict: 'fails',
        claim: SEALED_PARTS[part],
        detail: 'It was altered after the node sealed this file.',
      }),
    ),
  ];
}
