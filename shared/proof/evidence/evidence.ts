import canonicalize from 'canonicalize';
import type { LedgerEntry } from '../../ledger/ledger.ts';
import { type ProofCrypto, UnknownAlgorithmError } from '../crypto/algorithms.ts';
import { hexOf, strictBase64, utf8 } from '../crypto/bytes.ts';
import { DerError } from '../crypto/der.ts';
import { ProofError, verifyBy } from '../ledger/signedNote.ts';
import { TimestampError } from '../ledger/timestamp.ts';
import type { Claim, ClaimId } from '../verdict.ts';

/** The proof that an entry is in the ledger of a checkpoint. Hashes are in base64. */
export interface EntryProof {
  /** The checkpoint as a signed note, with the lines of witnesses. */
  checkpoint: string;
  hashes: string[];
}

/** An entry of the ledger, and the text whose digest it holds. */
export interface ProvenEntry {
  entry: LedgerEntry;
  /** The canonical JSON of what was recorded. */
  record: string;
  /** One proof for each checkpoint; the first is of the newest. */
  proofs: EntryProof[];
}

/** How the object of an event was fetched: the leaf of an entry `retrievals.recorded`. */
export interface ProvenRetrieval extends ProvenEntry {
  /** The canonical JSON of the retrieval. */
  retrieval: string;
  hashes: string[];
}

export interface EvidenceTimestamp {
  authority: string;
  /** The stamped text: the body of one of the checkpoints. */
  text: string;
  /** The authority's reply, in base64. */
  reply: string;
}

export interface EvidenceFile {
  /** `after` and `before` for an event, and the `picture` of a page; the path for a pack. */
  name: string;
  sha256: string;
  bytes: number;
  media_type: string;
  /** The bytes in base64; null if they are given by digest only. */
  content: string | null;
}

export const EVIDENCE_FORMATS = [
  'strongroom-evidence@1',
  'strongroom-evidence@2',
  'strongroom-evidence@3',
  'strongroom-evidence@4',
] as const;

/** What an evidence file holds. Everything that it shows is made from this. */
export interface Evidence {
  /** It follows from what the file holds: see `formatOf`. */
  format: (typeof EVIDENCE_FORMATS)[number];
  kind: 'event' | 'pack';
  made_at: string;
  /** The verifier key of the node's checkpoints. It begins with the name of the node. */
  key: string;
  witnesses: string[];
  recorded: ProvenEntry;
  retrieval: ProvenRetrieval | null;
  /** The page capture of an event that a browser saw: the entry `page.captured`. */
  page?: ProvenEntry;
  /** The finding whose passage is in one of the files: the entry `finding.added`, or `finding.revealed`. */
  finding?: ProvenEntry;
  /**
   * How it was sealed before: the entry `finding.sealed`, and the salt in hex. Only of a finding that was revealed. What limits
   * the time of the seal is absent in files that were made before.
   */
  sealed?: ProvenEntry & { salt: string } & Partial<Pick<Evidence, 'witnesses' | 'timestamps'>>;
  /** What peers signed that fetched the address at the same time: the entries `observation.signed`. */
  seen_by?: ProvenEntry[];
  timestamps: EvidenceTimestamp[];
  files: EvidenceFile[];
  /** The difference between the two versions, computed by the node; null if there is none. */
  diff: unknown;
  /** The digest of each part above, and the node's Ed25519 signature of that text in base64; null if it has no key. */
  seal: { text: string; signature: string } | null;
}

/** The third may have a `page` and `seen_by` too, and the fourth a `page`. */
export function formatOf({
  finding,
  seen_by,
  page,
}: Pick<Evidence, 'finding' | 'seen_by' | 'page'>): Evidence['format'] {
  if (finding) return 'strongroom-evidence@3';
  if (seen_by) return 'strongroom-evidence@4';
  return page ? 'strongroom-evidence@2' : 'strongroom-evidence@1';
}

export type EvidenceClaim = Claim<ClaimId<'evidence'>>;

/** Runs a check. What it throws because of the data is a failure; anything else is an error of the program. */
export function judge<Id extends string>(id: Id, name: string, detail: string, check: () => void): Claim<Id> {
  try {
    check();
    return { id, name, state: 'holds', detail };
  } catch (error) {
    if (error instanceof UnknownAlgorithmError)
      return { id, name, state: 'unproven', detail: `${error.message} Check it with openssl ts -verify.` };
    const isOfData = [ProofError, TimestampError, DerError, RangeError, SyntaxError].some(
      (type) => error instanceof type,
    );
    if (!isOfData) throw error;
    return { id, name, state: 'fails', detail: (error as Error).message };
  }
}

/** What nothing in the file can prove. The detail says who claims it, and how to check it. */
export function stated(name: string, detail: string): EvidenceClaim {
  return { id: 'stated', name, state: 'claimed', detail };
}

/**
 * Reads a text that a node recorded as an object. It is canonical, so that every program reads the same: not all take the last
 * of two members with one name.
 *
 * @throws ProofError
 */
export function recordIn(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ProofError('The record is not JSON.', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProofError('The record is not a JSON object.');
  requireThat(canonicalOf(value) === text, 'The record is not canonical JSON.');
  return value as Record<string, unknown>;
}

export function sha256(text: string | Uint8Array, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', typeof text === 'string' ? utf8(text) : text));
}

export function requireThat(isMet: boolean, sentence: string): void {
  if (!isMet) throw new ProofError(sentence);
}

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
  return sha256(canonicalOf(evidence[part]), crypto);
}

/** Returns the canonical JSON of what a file has. @throws ProofError if there is none: a node did not write it */
export function canonicalOf(value: unknown): string {
  try {
    return canonicalize(value) ?? '';
  } catch {
    // A lone surrogate, or nested too deeply.
    throw new ProofError('It has no canonical JSON.');
  }
}

/**
 * Checks that every part is as the node wrote it. What no proof covers, such as the list of differences, could otherwise be
 * changed unnoticed.
 */
export function checkSeal(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { seal, key } = evidence;
  const name = 'Every part of this file is as the node wrote it.';
  if (!seal)
    return [
      {
        id: 'seal',
        name,
        state: 'unproven',
        detail:
          'This file has no seal: the node had no key to make one with, or somebody removed it and may have changed what no proof covers.',
      },
    ];
  const whole = judge('seal', name, 'The node signed the digest of each part.', () => {
    const isSigned = verifyBy(key, utf8(seal.text), strictBase64(seal.signature), crypto);
    requireThat(isSigned, 'The seal was altered: its signature does not match.');
    requireThat(seal.text === sealText(evidence, crypto), 'A part was altered.');
  });
  const parts = partsOf(evidence).map((part) =>
    judge('sealed_part', SEALED_PARTS[part], '', () => {
      const isSealed = seal.text.includes(`\n${part} ${digestOf(evidence, part, crypto)}\n`);
      requireThat(isSealed, 'It was altered after the node sealed this file.');
    }),
  );
  return [whole, ...parts.filter(({ state }) => state === 'fails')];
}
