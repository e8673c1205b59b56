import type { z } from 'zod';
import { PeerError } from '../peerClient.ts';
import type { Mirroring } from './remoteLog.ts';

const MAX_LIST_BYTES = 8 * 1_048_576;
const PAGE = 200;

/**
 * Yields the items of a list of the peer that its verified checkpoint covers, newest first. Nothing of them is proven yet.
 *
 * @throws PeerError; the signal's reason
 */
export async function* coveredItems<Item extends { ledger_entry: number }>(
  { client, log, signal }: Pick<Mirroring, 'client' | 'log' | 'signal'>,
  path: string,
  schema: z.ZodType<{ items: Item[] }>,
): AsyncGenerator<Item> {
  let last = Number.POSITIVE_INFINITY;
  for (let offset = 0; ; offset += PAGE) {
    signal.throwIfAborted();
    const query = `${path}?limit=${PAGE}&offset=${offset}`;
    const items = await client.json(query, schema, MAX_LIST_BYTES).then((list) => list.items, orNone);
    let isNew = false;
    for (const item of items) {
      // In order and without repetition, so that an endless list ends.
      if (item.ledger_entry >= last) continue;
      last = item.ledger_entry;
      isNew = true;
      if (item.ledger_entry <= log.size) yield item;
    }
    if (items.length < PAGE || !isNew) return;
  }
}

/** A peer of an earlier version has no such list. */
function orNone(error: unknown): [] {
  if (error instanceof PeerError && (error.status === 400 || error.status === 404)) return [];
  throw error;
}
