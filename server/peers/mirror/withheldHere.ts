import { z } from 'zod';
import type { Withholding } from '../../../shared/node/withheld.ts';
import { digestSchema } from '../../../shared/values/digest.ts';
import { isJoined } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isPack, isPage, isReleased } from '../../store/sqlite/node/withheld.ts';
import { type Target, targetOf } from '../../withholding/withholding.ts';
import { listOf } from '../peerClient.ts';
import { coveredRetrievals, prove } from './mirrorSources.ts';
import { MAX_LIST_BYTES, type Mirroring, noSuchList } from './remoteLog.ts';

const PAGE = 200;
/** No withholding covers more. */
const MAX_OBJECTS = 1_000_000;

const objectList = z.object({ items: listOf(z.looseObject({ sha256: digestSchema })) });

/** Returns what a withholding of the peer is here; undefined if this archive does not hold it. */
export async function targetHere(mirroring: Mirroring, item: Withholding): Promise<Target | undefined> {
  const { read } = mirroring.store;
  if (item.pack !== null) return isPack(read, item.pack) ? targetOf({ pack: item.pack }) : undefined;
  if (item.page !== null) return isPage(read, item.page) ? targetOf({ page: item.page }) : undefined;
  const sha256 = item.sha256 ?? (await objectOf(mirroring, item.retrieval));
  return sha256 !== undefined && isHeld(read, sha256) ? targetOf({ sha256 }) : undefined;
}

/** Returns the object that a retrieval of the peer brought. */
async function objectOf(mirroring: Mirroring, id: number | null): Promise<string | undefined> {
  if (id === null) return undefined;
  for await (const [item] of coveredRetrievals(mirroring, {}, id)) {
    if (item?.retrieval.id !== id) return undefined;
    await prove(mirroring, item);
    return item.retrieval.sha256 ?? undefined;
  }
  return undefined;
}

/**
 * Returns the objects that a withholding of the peer covers there and that are here. This archive may have them without the
 * pack or the page that the peer withholds, and it may not know what belongs together. No entry proves the list: anybody
 * on the way can alter it.
 *
 * @throws PeerError; the signal's reason
 */
export async function objectsHere(mirroring: Mirroring, withholding: number): Promise<string[]> {
  const { store, client, signal } = mirroring;
  const here = new Set<string>();
  for (let offset = 0; offset < MAX_OBJECTS; offset += PAGE) {
    signal.throwIfAborted();
    const query = `withholding=${withholding}&limit=${PAGE}&offset=${offset}`;
    const { items } = await client
      .json(`/api/withheld/objects?${query}`, objectList, MAX_LIST_BYTES)
      .catch(noSuchList);
    for (const { sha256 } of items.slice(0, PAGE)) if (isHeld(store.read, sha256)) here.add(sha256);
    if (items.length < PAGE) break;
  }
  return [...here];
}

/** Whether this archive holds these bytes, also if only in the parts of a set. */
export function isHeld(read: ReadDatabase, sha256: string): boolean {
  return (blobBytes(read, sha256) !== undefined || isJoined(read, sha256)) && !isReleased(read, sha256);
}
