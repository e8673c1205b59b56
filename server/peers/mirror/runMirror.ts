import type { MirrorLimits } from '../../../shared/limits.ts';
import type { MirrorRequest, MirrorResult, PackSelection } from '../../../shared/node/peer.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { ObjectReceiver } from '../../collection/record/objectReceiver.ts';
import { keyNameOf } from '../../ledger/nodeKey.ts';
import { every } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { originOf } from '../../store/sqlite/node/peerOrigins.ts';
import {
  allPeers,
  mirrorsOf,
  type PeerMirrorRow,
  peerById,
  putMirror,
} from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import { type PeerClient, PeerLimitError } from '../peerClient.ts';
import type { PeerCheckpoint } from '../peerRecords.ts';
import { followAgain, followWithheld, showUnlisted } from './followWithheld.ts';
import { followDeposits, PackMirror } from './mirrorPacks.ts';
import { mirrorPages } from './mirrorPages.ts';
import { mirrorSources } from './mirrorSources.ts';
import { MirrorTally, RefusedRecordError } from './mirrorTally.ts';
import { type Mirroring, type Progress, RemoteLog } from './remoteLog.ts';

interface MirrorRun {
  store: Store;
  settings: () => Settings;
  peer: { id: string; name: string };
  /** The verifier key of this node. */
  ownKey: string;
  client: PeerClient;
  /** The verified checkpoint. Nothing is taken that it does not cover. */
  checkpoint: PeerCheckpoint;
  signal: AbortSignal;
  limits: MirrorLimits;
  progress: (done: number, total: null) => void;
}

/**
 * Mirrors the selected records of a peer whose ledger was verified. Records that are already held are skipped, so an
 * interrupted mirror resumes where it stopped.
 *
 * @throws PeerError; the signal's reason
 */
export async function runMirror(run: MirrorRun, request: MirrorRequest): Promise<MirrorResult> {
  const tally = new MirrorTally();
  const origin = await run.store.write((database) => originOf(database, run.checkpoint.key));
  const mirroring = mirroringOf(run, tally, origin);
  const { requests, bytes, hours } = run.limits;
  const until = run.store.clock.now() + hours * MS_PER_HOUR;
  run.client.limit({ requests, bytes, isOver: () => run.store.clock.now() > until });
  try {
    await takeAll(run, mirroring, request);
  } catch (error) {
    if (!(error instanceof PeerLimitError)) throw error;
    tally.reached(error.message);
  }
  return tally.result();
}

async function takeAll(run: MirrorRun, mirroring: Mirroring, request: MirrorRequest): Promise<void> {
  const { tally } = mirroring;
  const selections = selectionsOf(request);
  // First, so that a mirror is followed although its first run fails.
  for (const [kind, selection] of selections) await saveMirror(run, kind, selection, request);
  // Before anything new is taken, because what a withholding covers depends on what is here when it is recorded.
  await followWithheld(mirroring);
  for (const [kind, selection] of selections) {
    const { size, held, position } = readMirror(run, kind, selection);
    // A new selection brings records that are older than what was followed. Stored first, so that a break loses nothing.
    if (size < mirroring.log.size) await followAgain(mirroring);
    const after = await takeKind(mirroring, kind, selection, { size, held, position });
    await saveMirror(run, kind, selection, { ...after, mirrored_at: run.store.instant() });
  }
  if (!tally.shouldStop && request.packs) await new PackMirror(mirroring).completeSets();
  // Again after the mirror, for what was withheld meanwhile.
  if (!tally.shouldStop) await followWithheld(mirroring);
  if (!tally.shouldStop) await showUnlisted(mirroring);
  if (!tally.shouldStop && request.packs) await followDeposits(mirroring);
}

/** Changes the stored state of a mirror. The owner may have removed the peer meanwhile. */
async function saveMirror(
  run: MirrorRun,
  kind: Kind,
  selection: unknown,
  changes: Partial<Progress> & Pick<MirrorRequest, 'follow' | 'every_minutes'> & { mirrored_at?: string },
): Promise<void> {
  await run.store.write((database) => {
    if (!peerById(database, run.peer.id)) return;
    const mirror = readMirror(run, kind, selection);
    const { follow = mirror.follow === 1, every_minutes = mirror.every_minutes } = changes;
    const { size, held, position, mirrored_at } = { ...mirror, ...changes };
    putMirror(database, {
      ...mirror,
      size,
      held,
      position,
      mirrored_at,
      follow: follow ? 1 : 0,
      every_minutes,
    });
  });
}

type Kind = PeerMirrorRow['kind'];

function selectionsOf({ packs, sources }: MirrorRequest): [Kind, unknown][] {
  const selections: [Kind, unknown][] = [];
  if (packs) selections.push(['packs', packs]);
  if (sources) selections.push(['sources', sources]);
  return selections;
}

function takeKind(mirroring: Mirroring, kind: Kind, selection: unknown, before: Progress): Promise<Progress> {
  if (kind === 'sources') return takeSources(mirroring, selection as true | string[], before);
  return new PackMirror(mirroring).run(selection as Exclude<PackSelection, false>, before);
}

/** Takes what the peer retrieved, then its page captures: they name retrievals. */
async function takeSources(
  mirroring: Mirroring,
  selection: true | string[],
  before: Progress,
): Promise<Progress> {
  const { tally, log } = mirroring;
  const refusedBefore = tally.refusals;
  const stopped = new Set<string>();
  const after = await mirrorSources(mirroring, selection, before, stopped);
  if (before.size === log.size || tally.shouldStop) return after;
  const held = await mirrorPages(mirroring, selection, before, stopped);
  return tally.refusals === refusedBefore ? { ...after, held: after.held + held } : before;
}

function readMirror(
  { store, peer }: Pick<MirrorRun, 'store' | 'peer'>,
  kind: Kind,
  asked: unknown,
): PeerMirrorRow {
  const selection = canonicalText(asked);
  const known = mirrorsOf(store.read, peer.id).find(
    (each) => each.kind === kind && each.selection === selection,
  );
  return known ?? { ...NEW_MIRROR, peer: peer.id, kind, selection };
}

const NEW_MIRROR = {
  follow: 0,
  every_minutes: null,
  size: 0,
  held: 0,
  position: 0,
  mirrored_at: null,
} as const;

function mirroringOf(run: MirrorRun, tally: MirrorTally, origin: number): Mirroring {
  const { limits, store, client, checkpoint, signal, peer } = run;
  const receiver = new ObjectReceiver(store, run.settings);
  return {
    store,
    client,
    log: new RemoteLog(client, checkpoint),
    tally,
    receiver,
    maxObjectMb: run.settings().max_object_mb,
    peer,
    origin,
    limits,
    ownName: keyNameOf(run.ownKey),
    signal,
    progress: (done) => run.progress(done, null),
    provenance: () => ({
      peer: { name: peer.name, key: checkpoint.key },
      mirrored_at: store.instant(),
    }),
    reserveSpace: async (bytes) => {
      if (bytes > 0 && !receiver.reserveSpace(bytes)) throw new RefusedRecordError('no_room');
    },
    releaseSpace: (bytes) => receiver.releaseSpace(bytes),
  };
}

/** How often due mirrors are looked for, and the interval of a mirror that has none of its own. */
const POLL_INTERVAL_MS = 60_000;
const DEFAULT_EVERY_MINUTES = 60;
const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 60 * MS_PER_MINUTE;
/** A mirror that failed is tried again after this time, or after its own interval if that is shorter. */
const RETRY_MS = 5 * MS_PER_MINUTE;

interface FollowedMirrors {
  store: Store;
  log: Log;
  /** Default: every minute. */
  pollIntervalMs: number | undefined;
  /** Whether some work with a peer is running. */
  isBusy: (peer: string) => boolean;
  /** Starts a mirror that is due. */
  mirror: (peer: { id: string; name: string }, request: MirrorRequest) => void;
}

/** Repeats followed mirrors when they are due. Returns a function that stops this. */
export function followMirrors({ store, log, pollIntervalMs, isBusy, mirror }: FollowedMirrors): () => void {
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
  const timer = every(pollIntervalMs ?? POLL_INTERVAL_MS, mirrorDue, (error) =>
    log.error({ error }, 'The mirrors that are due could not be read.'),
  ).unref();
  return () => clearInterval(timer);
}
