import type { MirrorRequest } from '../../shared/node/peer.ts';
import { allPeers, mirrorsOf } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';

/** How often due mirrors are looked for, and the interval of a mirror that has none of its own. */
const LOOK_EVERY_MS = 60_000;
const DEFAULT_EVERY_MINUTES = 60;
const MS_PER_MINUTE = 60_000;
/** A mirror that failed is tried again after this time, or after its own interval if that is shorter. */
const RETRY_MS = 5 * MS_PER_MINUTE;

export interface FollowedMirrors {
  store: Store;
  /** Default: every minute. */
  lookEveryMs: number | undefined;
  /** Whether some work with a peer is running. */
  isBusy: (peer: string) => boolean;
  /** Starts a mirror that is due. */
  mirror: (peer: { id: string; name: string }, request: MirrorRequest) => void;
}

/** Repeats followed mirrors when they are due. Returns a function that stops this. */
export function followMirrors({ store, lookEveryMs, isBusy, mirror }: FollowedMirrors): () => void {
  const attemptedAt = new Map<string, number>();
  const mirrorDue = () => {
    const now = store.clock.now();
    for (const { id, name, state } of allPeers(store.read)) {
      // A running mirror records its own time when it ends.
      if (state === 'rewritten' || state === 'key_changed' || isBusy(id)) continue;
      for (const { kind, selection, follow, every_minutes, mirrored_at } of mirrorsOf(store.read, id)) {
        const key = `${id} ${kind} ${selection}`;
        const every = (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE;
        const isDue = now - (Date.parse(mirrored_at ?? '') || 0) >= every;
        const justTried = now - (attemptedAt.get(key) ?? 0) < Math.min(every, RETRY_MS);
        if (follow === 0 || !isDue || justTried) continue;
        attemptedAt.set(key, now);
        mirror({ id, name }, { [kind]: JSON.parse(selection) as unknown } as MirrorRequest);
      }
    }
  };
  const timer = setInterval(mirrorDue, lookEveryMs ?? LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}
