import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { judge, requireThat } from '../../shared/proof/evidence.ts';
import {
  isCheckpointNote,
  isProofFile,
  openCheckpoint,
  requireNodeKey,
} from '../../shared/proof/signedNote.ts';
import { checkTlogProof } from '../../shared/proof/tlogProof.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, proofFinding } from './report.ts';

/** Verifies a checkpoint, or a proof file with the ledger entry beside it, with the key of the node. */
export async function verifyNoteFile(path: string, key: string | undefined): Promise<Finding> {
  const text = await readFile(path, 'utf8');
  const rest = { sha256: hash('sha256', text), against: key ?? null };
  if (!isProofFile(text)) return proofFinding(path, 'checkpoint', checkpointClaims(text, key), rest);
  const entry = await orIfMissing(
    readFile(path.replace(/(?:\.tlog-proof)?$/, '.entry.json'), 'utf8'),
    undefined,
  );
  const claims = entry === undefined ? [] : checkTlogProof(text, { key, entry }, nodeCrypto);
  return proofFinding(path, 'tlog_proof', claims, rest);
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
