import { isConsistent } from '../../server/ledger/prove.ts';
import type { ConsistencyProof } from '../../shared/ledger/ledger.ts';
import { type Client, jsonOf, Violation } from './client.ts';

/** What a reader kept of a checkpoint that he was given. */
export interface KeptCheckpoint {
  size: number;
  /** In base64. */
  root: string;
}

/** Reads the checkpoint as a visitor. */
export async function readCheckpoint(node: Client): Promise<KeptCheckpoint> {
  const answer = await node.asVisitor('/api/ledger/checkpoint');
  const [, size, root] = answer.body.toString().split('\n');
  if (answer.status !== 200 || !size || !root)
    throw new Violation(`No checkpoint: ${answer.body.toString()}`);
  return { size: Number(size), root };
}

/** Requires that the ledger of today begins with that of a checkpoint from before. */
export async function requireConsistent(node: Client, { size, root }: KeptCheckpoint): Promise<void> {
  const answer = await node.asVisitor(`/api/ledger/consistency?from=${size}`);
  if (answer.status !== 200)
    throw new Violation(
      `The ledger does not continue a checkpoint of ${size} entries: ${answer.body.toString()}`,
    );
  const proof = jsonOf<ConsistencyProof>(answer);
  const bytes = (text: string) => Buffer.from(text, 'base64');
  const isProven = isConsistent(
    { size, root: bytes(root) },
    { size: proof.size, root: bytes(proof.root) },
    proof.hashes.map(bytes),
  );
  if (!isProven) throw new Violation(`The ledger was rewritten since a checkpoint of ${size} entries.`);
}
