import type { MirrorRequest, MirrorResult, PackSelection } from '../../../shared/node/peer.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { ObjectReceiver } from '../../collection/record/objectReceiver.ts';
import { mirrorsOf, type PeerMirrorRow, peerById, putMirror } from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import type { PeerCheckpoint } from '../peerCheckpoint.ts';
import type { PeerClient } from '../peerClient.ts';
import type { Mirroring, Progress } from './mirroring.ts';
import { PackMirror } from './mirrorPacks.ts';
import { mirrorSources } from './mirrorSources.ts';
import { MirrorTally, RefusedRecordError } from './mirrorTally.ts';
import { RemoteLog } from './remoteLog.ts';

export interface MirrorRun {
  store: Store;
  settings: () => Settings;
  peer: { id: string; name: string };
  client: PeerClient;
  /** The verified checkpoint. Nothing is taken that it does not cover. */
  checkpoint: PeerCheckpoint;
  signal: AbortSignal;
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
  const mirroring = mirroringOf(run, tally);
  const selections = selectionsOf(request);
  // First, so that a mirror is followed although its first run fails.
  for (const [kind, selection] of selections) await saveMirror(run, kind, selection, request);
  for (const [kind, selection] of selections) {
    const { size, held, position } = readMirror(run, kind, selection);
    const after = await takeKind(mirroring, kind, selection, { size, held, position });
    await saveMirror(run, kind, selection, { ...after, mirrored_at: run.store.instant() });
  }
  return tally.result();
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
  if (kind === 'sources') return mirrorSources(mirroring, selection as true | string[], before);
  return new PackMirror(mirroring).run(selection as Exclude<PackSelection, false>, before);
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

function mirroringOf(run: MirrorRun, tally: MirrorTally): Mirroring {
  const { store, client, checkpoint, signal, peer } = run;
  const receiver = new ObjectReceiver(store, run.settings);
  return {
    store,
    client,
    log: new RemoteLog(client, checkpoint),
    tally,
    receiver,
    maxObjectMb: run.settings().max_object_mb,
    peer,
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
