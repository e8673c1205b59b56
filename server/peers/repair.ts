import type { RepairResult } from '../../shared/node/peer.ts';
import { Problem } from '../../shared/problems.ts';
import { restoreObject } from '../fixity/damages.ts';
import type { JobRun } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { currentDamages } from '../store/sqlite/node/blobs.ts';
import { allPeers, type PeerRow } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { type PeerClient, PeerError } from './peerClient.ts';
import type { PeerWork } from './peerConnections.ts';

/** The number of objects that one run repairs. */
const MAX_REPAIRED = 1_000;
/** Where a node has an object: as a file of a pack, or as what it retrieved. */
const PLACES = ['/api/blobs/', '/archive/'];
/** The problems of a peer, after which the next one is asked. */
const NOT_READ: ReadonlySet<string> = new Set(['peer_failed', 'certificate_mismatch']);

interface Repair extends JobRun {
  store: Store;
  log: Log;
  withPeer: <Result>(id: string, work: PeerWork<Result>) => Promise<Result>;
}

/**
 * Fetches the objects that are recorded as damaged or missing from peers that hold them. Each is verified by its digest
 * and put in place, and the ledger records `object.restored`. Nothing is taken from a peer that rewrote its ledger.
 *
 * @throws the signal's reason; errors of this archive's storage
 */
export async function repairFromPeers({
  store,
  log,
  withPeer,
  signal,
  progress,
}: Repair): Promise<RepairResult> {
  let missing = currentDamages(store.read, MAX_REPAIRED).map(({ sha256 }) => sha256);
  const total = missing.length;
  const restored: string[] = [];
  for (const peer of allPeers(store.read).filter(isTrusted)) {
    if (missing.length === 0) break;
    const left: string[] = [];
    try {
      await withPeer(peer.id, async (client) => {
        for (const [index, sha256] of missing.entries()) {
          signal.throwIfAborted();
          try {
            const isBack = await fetchFrom(client, store, sha256);
            (isBack ? restored : left).push(sha256);
          } catch (error) {
            left.push(...missing.slice(index));
            throw error;
          }
          progress(restored.length, total);
        }
      });
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem) || !NOT_READ.has(error.code)) throw error;
      log.warn({ peer: peer.name, error }, 'A peer could not be asked for damaged objects.');
    }
    missing = left;
  }
  return { restored, missing };
}

function isTrusted({ state }: PeerRow): boolean {
  return state !== 'rewritten' && state !== 'key_changed';
}

/** Returns false if the peer does not have the object, or gives other bytes. */
async function fetchFrom(client: PeerClient, store: Store, sha256: string): Promise<boolean> {
  for (const place of PLACES) {
    try {
      if (await restoreObject(store, sha256, client.stream(`${place}${sha256}`))) return true;
    } catch (error) {
      if (!(error instanceof PeerError) || error.kind !== 'failing') throw error;
    }
  }
  return false;
}
