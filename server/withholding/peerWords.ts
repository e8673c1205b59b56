import { isReadOnly } from '../ledger/appendEntry.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  coveredStill,
  coverOnlyTheirs,
  deletePeerWord,
  fromElsewhere,
  insertPeerWord,
  putProposal,
  settleFromElsewhere,
  wordsCovering,
} from '../store/sqlite/node/peerOrigins.ts';
import {
  forgetPeerWithholding,
  insertPeerWithholding,
  type PeerWithholding,
  peersOfWithholding,
} from '../store/sqlite/node/peers.ts';
import { currentWithholding, withholdingByEntry } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { showNow, type Target, targetOf, withholdNow } from './withholding.ts';

/*
 * What this archive withholds because a peer does. The word of a peer counts for what came from that peer and from nowhere
 * else, so it ends for bytes that come from somewhere else. What the owner withholds is not touched.
 */

/** Ends the word of a peer inside each transaction that brings the bytes from somewhere else. */
export async function endWordsOfPeers(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'beforeCommit' | 'failure'>,
): Promise<void> {
  store.beforeCommit((database) => endWords(database, store.instant()));
  // What a command brought while no node was running.
  if (fromElsewhere(store.read).length > 0 && !isReadOnly(store.read) && !store.failure())
    await store.write(() => undefined);
}

function endWords(database: WriteDatabase, at: string): void {
  for (let digests = fromElsewhere(database); digests.length > 0; digests = fromElsewhere(database)) {
    for (const word of wordsCovering(database, { digests: JSON.stringify(digests) }))
      endWord(database, word, at);
    for (const sha256 of digests) settleFromElsewhere(database, sha256);
  }
}

/** Ends a withholding. What it covers and whose bytes are still from the peer alone is withheld by itself. */
function endWord(
  database: WriteDatabase,
  { withholding: entry, origin }: { withholding: number; origin: number },
  at: string,
): void {
  const withholding = withholdingByEntry(database, entry);
  deletePeerWord(database, entry);
  if (!withholding) return;
  const { sha256, pack, page, reason, note, at: since } = withholding;
  const target = targetOf(withholding);
  const peers = peersOfWithholding(database, entry);
  const rest = new Set(coveredStill(database, { withholding: entry, origin, pack, page }));
  forgetPeerWithholding(database, entry);
  showNow(database, target, at);
  const proposal = { sha256, pack, page, reason, note, at: since, withholding: null, proposed_at: at };
  for (const { withholding: _, ...followed } of peers) putProposal(database, { ...followed, ...proposal });
  for (const each of rest) {
    const made = withholdForPeer(database, { target: targetOf({ sha256: each }), reason, note, origin }, at);
    if (made === undefined) continue;
    for (const followed of peers) insertPeerWithholding(database, { ...followed, withholding: made });
  }
}

interface WordOfPeer {
  target: Target;
  reason: Parameters<typeof withholdNow>[1]['reason'];
  note: string | null;
  origin: number;
}

/**
 * Withholds something because of the word of a peer, and of what belongs to it what came from that peer alone. Returns the
 * entry of the withholding; undefined if the owner withholds it already.
 */
export function withholdForPeer(
  database: WriteDatabase,
  { target, reason, note, origin }: WordOfPeer,
  at: string,
  replaced: readonly Pick<PeerWithholding, 'withholding'>[] = [],
): number | undefined {
  const current = currentWithholding(database, target);
  if (current !== undefined && !replaced.some(({ withholding }) => withholding === current)) return undefined;
  const given = Object.fromEntries(Object.entries(target).filter(([, value]) => value !== null));
  const { withholding, isNew } = withholdNow(
    database,
    { ...given, reason, ...(note !== null && { note }) },
    at,
  );
  if (isNew) {
    insertPeerWord(database, { withholding: withholding.ledger_entry, origin });
    coverOnlyTheirs(database, { withholding: withholding.ledger_entry, origin });
  }
  return withholding.ledger_entry;
}
