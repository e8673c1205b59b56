import type { Witness } from '../../../shared/ledger/witness.ts';
import { newestCosignature } from '../../store/sqlite/node/witness.ts';
import type { Store } from '../../store/store.ts';
import { readHead } from '../appendEntry.ts';
import type { Checkpoints } from '../checkpoints.ts';
import type { OutgoingAnswer, Post } from '../outgoing.ts';
import { consistencyPath } from '../proofs.ts';
import { rangeRoot } from '../tree.ts';
import { type Cosignature, findCosignature, noteBody, parseCosignerKey } from './cosignature.ts';

/** A witness did not cosign a checkpoint. The message is a sentence that says why. */
export class WitnessError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WitnessError';
  }
}

export interface Submitted extends Cosignature {
  size: number;
  /** In hex. */
  root: string;
}

const MAX_ANSWER_BYTES = 65_536;

/**
 * Sends the current checkpoint to a witness, with a proof that it continues what the witness cosigned before (C2SP
 * tlog-witness). A witness that knows another size is asked once more from that size.
 *
 * @throws WitnessError; OutgoingError; the errors of `Checkpoints.sign`
 */
export async function submitCheckpoint(
  { store, checkpoints, post }: { store: Store; checkpoints: Checkpoints; post: Post },
  { url, key }: Witness,
  signal: AbortSignal,
): Promise<Submitted> {
  const cosigner = parseCosignerKey(key);
  if (!cosigner) throw new WitnessError('Its key is not a key for cosignatures.');
  const { seq: size, root } = store.read.transaction(() => readHead(store.read)).deferred();
  const note = await checkpoints.sign({ size, root: Buffer.from(root, 'hex') });
  const send = (old: number) => {
    const hashes = consistencyPath(old, size, (from, to) => rangeRoot(store.read, from, to));
    const proof = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
    return post({
      url: `${url.replace(/\/$/, '')}/add-checkpoint`,
      contentType: 'text/plain; charset=utf-8',
      accept: '*/*',
      body: Buffer.from(`old ${old}\n${proof}\n${note}`),
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
  };
  const known = Math.min(newestCosignature(store.read, key)?.size ?? 0, size);
  const first = await send(known);
  const stated = sizeIn(first);
  if (stated !== undefined && stated > size)
    throw new WitnessError(`It has seen ${stated} entries of this ledger, which has ${size}.`);
  const answer = stated === undefined || stated === known ? first : await send(stated);
  if (answer.status !== 200) throw new WitnessError(describeRefusal(answer));
  const found = findCosignature(answer.body.toString('utf8'), noteBody(note), cosigner);
  if (!found) throw new WitnessError('Its answer holds no valid cosignature by its key.');
  return { ...found, size, root };
}

function sizeIn({ status, contentType, body }: OutgoingAnswer): number | undefined {
  if (status !== 409 || contentType !== 'text/x.tlog.size') return undefined;
  const text = body.toString('utf8');
  return /^(0|[1-9]\d{0,14})\n$/.test(text) ? Number(text) : undefined;
}

function describeRefusal({ status }: OutgoingAnswer): string {
  if (status === 404) return 'It does not know this ledger. Its owner must add this node’s key there.';
  if (status === 409 || status === 422) return 'It says that this ledger is not the one it cosigned before.';
  return `It answered with status ${status}.`;
}
