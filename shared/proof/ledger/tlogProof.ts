import type { LedgerEntry } from '../../ledger/ledger.ts';
import { Problem } from '../../problems.ts';
import { parseStrictJson } from '../../values/canonicalJson.ts';
import { aboutEntry } from '../about.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { bytesOfHex, concat, hexOf, isSameBytes } from '../crypto/bytes.ts';
import { canonicalOf, judge, requireThat, sha256 } from '../evidence/evidence.ts';
import { type ProvenFile, provenFile } from '../provenFile.ts';
import type { Claim, ClaimId } from '../verdict.ts';
import { headWords } from '../words.ts';
import { noteBody, openCheckpoint, ProofError, parseCheckpoint, requireNodeKey } from './signedNote.ts';
import { rootFromLeaf } from './tree.ts';

type ProofClaim = Claim<ClaimId<'tlog_proof'>>;

/** A proof file (https://c2sp.org/tlog-proof). `index` counts from 0; the hashes are in base64. */
export interface TlogProof {
  index: number;
  hashes: string[];
  checkpoint: string;
}

/** A seal has a salt of 32 bytes. A part of the record could otherwise stand for it, and the rest of it for the record. */
const SALT = /^[0-9a-f]{64}$/;

const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra [^\n]*\n)?index (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n([^]*)$/;

/** Parses a proof file. Returns undefined if it is none. */
export function parseTlogProof(text: string): TlogProof | undefined {
  const [, index, lines, checkpoint] = PROOF.exec(text) ?? [];
  if (index === undefined || lines === undefined || checkpoint === undefined) return undefined;
  return { index: Number(index), hashes: lines.split('\n').slice(0, -1), checkpoint };
}

/** What a proof file is about, as it lies beside it. */
export interface ProofSubject {
  /** The ledger entry, in JSON; absent if it is not known. */
  entry: string | undefined;
  /** What the entry recorded; absent if it is not known. */
  record?: Uint8Array | undefined;
  /** The salt in hex with which the record was sealed; empty if it is missing, and absent if the record was not sealed. */
  salt?: string | undefined;
  /** The verifier key of the node; absent if nobody named one. */
  key: string | undefined;
}

/**
 * Checks a proof file with its entry, and what the entry recorded. Without the entry, nothing says what is in the ledger;
 * without the key, nothing says whose ledger it is.
 */
export function checkTlogProof(
  text: string,
  { entry: json, record, salt, key }: ProofSubject,
  crypto: ProofCrypto,
): ProofClaim[] {
  const proof = parseTlogProof(text);
  let entry: LedgerEntry | undefined;
  const form: ProofClaim = judge('form', 'It is a proof of an entry of a ledger.', '', () => {
    requireThat(proof !== undefined, 'It has another form.');
    if (json === undefined) return;
    entry = parseEntry(json);
    requireThat(entry.seq - 1 === proof?.index, 'It is of another entry.');
  });
  if (!proof || form.state !== 'holds') return [form];
  return [
    form,
    ...(entry ? checkEntry(entry, proof, { record, salt }, crypto) : []),
    ...(key === undefined
      ? []
      : [
          judge('key', 'The key of the node is well formed.', '', () => requireNodeKey(key, crypto)),
          judge('checkpoint', 'The node signed the checkpoint.', '', () => {
            openCheckpoint(proof.checkpoint, key, crypto);
          }),
        ]),
  ];
}

/** Judges a proof file, and says of which entry of which ledger it is. */
export function provenTlogProof(text: string, subject: ProofSubject, crypto: ProofCrypto): ProvenFile {
  const proven = provenFile('tlog_proof', checkTlogProof(text, subject, crypto));
  const { entry, key } = subject;
  const head = parseCheckpoint(noteBody(parseTlogProof(text)?.checkpoint ?? ''));
  if (proven.verdict !== 'intact' || entry === undefined || key === undefined || !head) return proven;
  return {
    ...proven,
    about: aboutEntry(parseEntry(entry), key),
    detail: `in the ledger with ${headWords(head, key)}`,
  };
}

function checkEntry(
  entry: LedgerEntry,
  proof: TlogProof,
  { record, salt }: Pick<ProofSubject, 'record' | 'salt'>,
  crypto: ProofCrypto,
): ProofClaim[] {
  const { hash, ...unsealed } = entry;
  return [
    judge('entry', `The ledger entry ${entry.seq} is intact.`, '', () =>
      requireThat(sha256(canonicalOf(unsealed), crypto) === hash, 'The ledger entry was altered.'),
    ),
    ...(record
      ? [
          judge('record', 'The entry is of the record beside it.', '', () => {
            const isSealed = salt !== undefined;
            requireThat(
              (entry.type === 'finding.sealed') === isSealed,
              isSealed ? 'The entry sealed nothing.' : 'The entry is of a seal, which only the salt opens.',
            );
            requireThat(!isSealed || SALT.test(salt), 'The salt is missing, or is not 64 hex digits.');
            const bytes = isSealed ? concat(bytesOfHex(salt), record) : record;
            requireThat(
              hexOf(crypto.digest('sha256', bytes)) === entry.digest,
              'The record or the salt was altered.',
            );
          }),
        ]
      : []),
    judge('inclusion', 'The entry is in the ledger of the checkpoint.', '', () => {
      const head = parseCheckpoint(noteBody(proof.checkpoint));
      if (!head) throw new ProofError('It ends with no checkpoint.');
      const place = { index: proof.index, size: head.size };
      const computed = rootFromLeaf(canonicalOf(entry), place, proof.hashes, crypto);
      requireThat(isSameBytes(computed, head.root), 'The entry or its proof was altered.');
    }),
  ];
}

/** Reads an entry, with no member that is not covered. How its JSON is written makes no other entry. @throws ProofError */
function parseEntry(json: string): LedgerEntry {
  let value: unknown;
  try {
    value = parseStrictJson(json.replace(/^\ufeff/, ''));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new ProofError('The entry beside it is not JSON, or not in one way only.', { cause: error });
  }
  const { seq, at, type, subject, digest, prev, hash } = Object(value) as LedgerEntry;
  const entry = { seq, at, type, subject, digest, prev, hash };
  const isOne = Number.isSafeInteger(seq) && canonicalOf(entry) === canonicalOf(value);
  if (!isOne) throw new ProofError('The entry beside it has another form.');
  return entry;
}
