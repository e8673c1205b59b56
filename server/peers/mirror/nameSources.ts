import { z } from 'zod';
import { newSourceSchema } from '../../../shared/collection/source.ts';
import { changeSource } from '../../collection/sources/sources.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { Mirroring } from './mirroring.ts';

const MAX_SOURCE_BYTES = 1_048_576;
const { name, agency } = newSourceSchema.shape;
const namedSource = z.object({ name, agency });

/**
 * Gives sources that this node knows by mirrored captures only the name and the agency that they have at the peer. No
 * entry of the peer's ledger proves them: they are labels, which the owner can change.
 *
 * @throws PeerError
 */
export async function nameSources(
  { store, client, signal }: Mirroring,
  ids: Iterable<string>,
): Promise<void> {
  for (const id of new Set(ids)) {
    const source = sourceById(store.read, id);
    const isNamed = source === undefined || source.name !== '' || source.last_checked_at !== null;
    if (isNamed || !source.paused || source.removed) continue;
    signal.throwIfAborted();
    const labels = await client.json(`/api/sources/${id}`, namedSource, MAX_SOURCE_BYTES);
    if (labels.name !== '') await changeSource(store, id, labels);
  }
}
