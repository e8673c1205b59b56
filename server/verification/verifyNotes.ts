import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type LedgerEntry, ledgerEntrySchema } from '../../shared/ledger/ledger.ts';
import { fromBase64, isSameBytes, toBase64 } from '../../shared/proof/bytes.ts';
import {
  isCheckpointNote,
  isProofFile,
  noteBody,
  openCheckpoint,
  ProofError,
  parseCheckpoint,
} from '../../shared/proof/signedNote.ts';
import { rootFromLeaf } from '../../shared/proof/tree.ts';
import type { Claim, ClaimId, ClaimState } from '../../shared/proof/verdict.ts';
import { isVerifierKey, nodeCrypto } from '../ledger/checkpoint.ts';
import { entryText, hashOf } from '../ledger/entry.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, proofFinding } from './report.ts';

/** A tree has at most 2⁵³ leaves. */
const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra [A-Za-z0-9+/=]*\n)?index (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n){0,53})\n/;

const PROOF_NAME = /(?:\.tlog-proof)?$/;

/** Verifies a checkpoint, or a proof file with the ledger entry beside it, with the key of the node. */
export async function verifyNoteFile(path: string, key: string | undefined): Promise<Finding> {
  const text = await readFile(path, 'utf8');
  const rest = { sha256: hash('sha256', text), against: key ?? null };
  if (!isProofFile(text)) return proofFinding(path, 'checkpoint', checkpointClaims(text, key), rest);
  const entry = await orIfMissing(readFile(path.replace(PROOF_NAME, '.entry.json'), 'utf8'), undefined);
  return proofFinding(path, 'tlog_proof', proofClaims(text, { key, entry }), rest);
}

type NoteClaim = Claim<ClaimId<'checkpoint'> & ClaimId<'tlog_proof'>>;

/** Checks a checkpoint. Without the key of its node, it proves nothing. */
export function checkpointClaims(note: string, key: string | undefined): NoteClaim[] {
  return [
    judged('form', 'This is a signed checkpoint.', () =>
      requireThat(isCheckpointNote(note), 'It is not one.'),
    ),
    ...keyClaims(key),
    ...(key === undefined
      ? []
      : [
          judged(
            'checkpoint',
            'The node signed this checkpoint.',
            () => void openCheckpoint(note, key, nodeCrypto),
          ),
        ]),
  ];
}

/** What is checked of a proof file: the key of its node, and the text of the entry that it is about. */
export interface Proven {
  key: string | undefined;
  entry: string | undefined;
}

/** Checks a proof file with the entry that it is about. */
export function proofClaims(text: string, { key, entry: entryJson }: Proven): Claim<ClaimId<'tlog_proof'>>[] {
  const [whole = '', index = '', lines = ''] = PROOF.exec(text) ?? [];
  const note = text.slice(whole.length);
  const entry = entryJson === undefined ? undefined : entryIn(entryJson);
  const about: Claim<ClaimId<'tlog_proof'>>[] =
    entryJson === undefined
      ? []
      : [
          judged('entry', 'The hash of the entry is that of the rest of it.', () => {
            requireThat(entry !== undefined && entry.hash === hashOf(entry), 'The entry was altered.');
          }),
          judged('inclusion', 'The proof leads from the entry to the root in the checkpoint.', () => {
            const { size, root } = parseCheckpoint(noteBody(note)) ?? { size: 0, root: new Uint8Array() };
            requireThat(entry !== undefined && Number(index) === entry.seq - 1, 'It is of another entry.');
            const hashes = lines.split('\n').slice(0, -1);
            requireThat(
              hashes.every((hash) => toBase64(fromBase64(hash)) === hash),
              'A hash is not written as a node writes it.',
            );
            const leaf = entry ? entryText(entry) : '';
            const computed = rootFromLeaf(leaf, { index: Number(index), size }, hashes, nodeCrypto);
            requireThat(
              isSameBytes(computed, root),
              'The entry or the proof was altered: they lead to another root.',
            );
          }),
        ];
  return [
    judged('form', 'This is a proof file with a signed checkpoint.', () =>
      requireThat(whole !== '' && isCheckpointNote(note), 'It is not one.'),
    ),
    ...keyClaims(key),
    ...(key === undefined
      ? []
      : [
          judged(
            'checkpoint',
            'The node signed the checkpoint.',
            () => void openCheckpoint(note, key, nodeCrypto),
          ),
        ]),
    ...about,
  ];
}

/** The entry as a node writes it; undefined if it is anything else. */
function entryIn(json: string): LedgerEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const entry = ledgerEntrySchema.safeParse(value);
  return entry.success && entryText(entry.data) === json.trim() ? entry.data : undefined;
}

function keyClaims(key: string | undefined): NoteClaim[] {
  if (key === undefined) return [];
  return [
    judged('key', 'The key is the verifier key of a node.', () =>
      requireThat(isVerifierKey(key), 'It is malformed.'),
    ),
  ];
}

function judged<Id extends string>(id: Id, name: string, check: () => void): Claim<Id> {
  let [state, detail]: [ClaimState, string] = ['holds', ''];
  try {
    check();
  } catch (error) {
    if (!(error instanceof ProofError || error instanceof RangeError)) throw error;
    [state, detail] = ['fails', error.message];
  }
  return { id, name, state, detail };
}

function requireThat(isMet: boolean, sentence: string): void {
  if (!isMet) throw new ProofError(sentence);
}
