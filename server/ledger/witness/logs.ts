import type { WitnessedLog, WitnessRefusal } from '../../../shared/ledger/witness.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import {
  allWitnessedLogs,
  insertWitnessedLog,
  refusalsPage,
  removeWitnessedLog,
  type WitnessedLogRow,
  witnessedLog,
} from '../../store/sqlite/node/witness.ts';
import type { Store } from '../../store/store.ts';
import { isVerifierKey } from '../checkpoint.ts';
import { keyNameOf } from '../nodeKey.ts';

/** Returns the logs for which this node is a witness. */
export function listWitnessedLogs({ read }: Pick<Store, 'read'>): WitnessedLog[] {
  return allWitnessedLogs(read).map(asLog);
}

/**
 * Makes this node a witness of a log. One that was removed is taken up again with its state.
 *
 * @throws Problem `log_exists`; `invalid_field` if the key is not an Ed25519 verifier key, or another than before
 */
export async function addWitnessedLog(store: Store, key: string): Promise<WitnessedLog> {
  if (!isVerifierKey(key)) throw invalidKey('This is not a verifier key: its hash does not match.');
  const origin = keyNameOf(key);
  const known = witnessedLog(store.read, origin);
  if (known && known.removed_at === null)
    throw new Problem('log_exists', `This node is a witness of ${origin} already.`);
  if (known && known.key !== key)
    throw invalidKey(
      'This node was a witness of that log with another key. Keys of a log do not change unnoticed.',
    );
  await store.write((database) => insertWitnessedLog(database, origin, key, store.instant()));
  return asLog(witnessedLog(store.read, origin) as WitnessedLogRow);
}

function invalidKey(message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path: '/key', message }] });
}

/** @throws Problem `not_found` */
export async function endWitnessing(store: Store, origin: string): Promise<void> {
  const known = witnessedLog(store.read, origin);
  if (!known || known.removed_at !== null)
    throw new Problem('not_found', `This node is not a witness of ${origin}.`);
  await store.write((database) => removeWitnessedLog(database, origin, store.instant()));
}

/** Returns a page of the refused checkpoints, newest first. */
export function listWitnessRefusals(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): Slice<WitnessRefusal> {
  const { items, total } = read.transaction(() => refusalsPage(read, page)).deferred();
  const refusals = items.map(({ body: _body, ...refusal }) => ({
    ...refusal,
    is_proof: refusal.size === refusal.known_size,
  }));
  return { items: refusals, total };
}

function asLog({ removed_at: _removed, note: _note, ...log }: WitnessedLogRow): WitnessedLog {
  return log;
}
