import type {
  ApprovedLinks,
  ChosenLinks,
  FoundLink,
  FoundLinksQuery,
} from '../../../shared/collection/follow.ts';
import type { Slice } from '../../../shared/values/list.ts';
import {
  forgetFollowRun,
  listFoundLinks,
  setFoundState,
  waitingIds,
  waitingLink,
} from '../../store/sqlite/collection/foundLinks.ts';
import { type SourceRow, sourceByKey } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import type { Network } from '../fetch/attempt.ts';
import { allowsPrivateAddress, PrivateAddressCheck } from '../sources/privateSources.ts';
import { firstCheckOf, MAX_FOLLOWED, watchFound } from './keepLinks.ts';

/** Addresses that are added in one transaction. */
const BATCH = 50;

/** Lists what followed sources link to, by source and newest first. */
export function listFound({ read }: Pick<Store, 'read'>, query: FoundLinksQuery): Slice<FoundLink> {
  const { state = null, source = null, limit, offset } = query;
  return read.transaction(() => listFoundLinks(read, { state, source }, { limit, offset })).deferred();
}

/** Watches those of the chosen addresses that wait. Their first checks are spread over time. */
export async function approveFound(
  { store, network }: { store: Store; network: Network },
  chosen: ChosenLinks,
): Promise<ApprovedLinks> {
  const result: ApprovedLinks = { added: 0, already: 0, sources: [] };
  const ids = idsOf(store, chosen);
  const privateAddresses = new PrivateAddressCheck(network, ids.length);
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = await Promise.all(
      ids.slice(start, start + BATCH).map(async (id, index) => {
        const link = waitingLink(store.read, id);
        const parent = link && sourceByKey(store.read, link.source_key);
        if (!link || !parent) return [];
        const nextCheck = firstCheckOf(store, parent, start + index);
        return [{ id, nextCheck, allowPrivate: await mayBePrivate(parent, link.url) }];
      }),
    );
    await store.write((database) => {
      for (const { id, ...position } of batch.flat()) {
        const link = waitingLink(database, id);
        const parent = link && sourceByKey(database, link.source_key);
        if (!link || !parent || parent.removed) continue;
        result[watchFound(database, store, { link, parent }, position)] += 1;
        result.sources.push(id);
      }
    });
  }
  return result;

  /** A page on the internet must not lead to the owner's own network, even if nobody noticed when it was approved. */
  async function mayBePrivate(parent: SourceRow, url: string): Promise<boolean> {
    if (!allowsPrivateAddress(parent, network.isPrivateAddress)) return false;
    return privateAddresses.allows(url);
  }
}

/** Refuses those of the chosen addresses that wait. They are not offered again; others may take their place. */
export function refuseFound(store: Store, chosen: ChosenLinks): Promise<{ refused: number }> {
  return store.write((database) => {
    let refused = 0;
    for (const id of idsOf({ read: database }, chosen)) {
      const link = waitingLink(database, id);
      if (!link) continue;
      setFoundState(database, id, 'refused');
      // Addresses beyond the limit are offered after the next check.
      forgetFollowRun(database, link.source_key);
      refused += 1;
    }
    return { refused };
  });
}

function idsOf({ read }: Pick<Store, 'read'>, chosen: ChosenLinks): string[] {
  if ('ids' in chosen) return [...new Set(chosen.ids)];
  return waitingIds(read, { source: chosen.source ?? null, limit: MAX_FOLLOWED });
}
