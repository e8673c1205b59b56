import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { judge, requireThat } from '../../shared/proof/evidence/evidence.ts';
import {
  isCheckpointNote,
  isProofFile,
  noteBody,
  openCheckpoint,
  parseCheckpoint,
  requireNodeKey,
} from '../../shared/proof/ledger/signedNote.ts';
import { provenTlogProof } from '../../shared/proof/ledger/tlogProof.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { headWords, shownPath } from '../../shared/proof/words.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { PROOF_FILE } from './plainFiles.ts';
import { type Finding, finding, proofFinding, provenFinding } from './report.ts';
import { bytesBeside, bytesOf } from './verifyProofFile.ts';

/** Much more than a proof, a ledger entry or a checkpoint with its cosignatures has. */
const MAX_NOTE_BYTES = 1_048_576;

const NEEDS_KEY = 'Nothing says whose checkpoint it is: give the verifier key of the node with --key.';

/** Verifies a checkpoint, or a proof file with the ledger entry beside it, with the key of the node. */
export async function verifyNoteFile(path: string, key: string | undefined): Promise<Finding> {
  const bytes = await bytesOf(createReadStream(path), MAX_NOTE_BYTES);
  if (!bytes) return finding(path, 'unknown', { detail: 'too large for a checkpoint or a proof' });
  const text = bytes.toString();
  const rest = { sha256: hash('sha256', bytes), against: key ?? null };
  const lacking = key === undefined ? [NEEDS_KEY] : [];
  if (!isProofFile(text) && !PROOF_FILE.test(path))
    return saying(lacking, checkpointFinding(path, text, key, rest));
  const entryFile = `${path.replace(PROOF_FILE, '')}.entry.json`;
  const entry = (await bytesBeside(entryFile, MAX_NOTE_BYTES))?.toString();
  if (entry === undefined)
    lacking.unshift(
      `The ledger entry that it proves is missing: put it beside it as ${shownPath(basename(entryFile))}.`,
    );
  return saying(lacking, provenFinding(path, provenTlogProof(text, { key, entry }, nodeCrypto), rest));
}

/** Says what is lacking of a file in which nothing is wrong. */
function saying(lacking: readonly string[], found: Finding): Finding {
  return found.verdict === 'altered' || lacking.length === 0
    ? found
    : { ...found, detail: lacking.join(' ') };
}

function checkpointFinding(
  path: string,
  note: string,
  key: string | undefined,
  rest: Partial<Finding>,
): Finding {
  const head = parseCheckpoint(noteBody(note));
  const detail = head && key !== undefined ? headWords(head, key) : null;
  return proofFinding(path, 'checkpoint', checkpointClaims(note, key), { ...rest, detail });
}

/** Checks a checkpoint. Without the key of its node, it proves nothing. */
export function checkpointClaims(note: string, key: string | undefined): Claim<ClaimId<'checkpoint'>>[] {
  return [
    judge('form', 'It is a signed checkpoint.', '', () =>
      requireThat(isCheckpointNote(note), 'It has another form.'),
    ),
    ...(key === undefined
      ? []
      : [
          judge('key', 'The key is the verifier key of a node.', '', () => requireNodeKey(key, nodeCrypto)),
          judge('checkpoint', 'The key signed the checkpoint.', '', () => {
            openCheckpoint(note, key, nodeCrypto);
          }),
        ]),
  ];
}
