import { observerSchema } from '../../shared/collection/captures.ts';
import type {
  MirrorRequest,
  MirrorResult,
  NewPeer,
  Peer,
  PeerChange,
  PeerEvidence,
  RepairResult,
} from '../../shared/node/peer.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { CheckpointError } from '../ledger/checkpoint.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import { readPeerRewrite } from '../ledger/peerRewrites.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import {
  allPeers,
  deletePeer,
  insertPeer,
  mirrorsOf,
  putMirror,
  updatePeer,
} from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { runMirror } from './mirror/runMirror.ts';
import type { Timer } from './patience.ts';
import { type PeerCheckpoint, readPeerCheckpoint, readPeerKey } from './peerCheckpoint.ts';
import { PeerClient, PeerError } from './peerClient.ts';
import { asPeer, peerFailed, requirePeer, verifyPeer } from './peerRecords.ts';
import { normalUrl, requireFree, requireObserver } from './peerRules.ts';
import { repairFromPeers } from './repair.ts';

export interface PeersConfig {
  store: Store;
  settings: () => Settings;
  jobs: Jobs;
  log: Log;
  /** The verifier key of this node, which is no peer of itself. */
  ownKey: string;
  /** Bounds the time of a peer's responses; tests inject one. */
  timer?: Timer | undefined;
  /** How often the node looks whether a mirror is due; tests look more often. */
  lookEveryMs?: number | undefined;
}

/** How often the node looks whether a mirror is due, and the interval of a mirror that has none of its own. */
const LOOK_EVERY_MS = 60_000;
const DEFAULT_EVERY_MINUTES = 60;
const MS_PER_MINUTE = 60_000;

/** The peers of an archive: other nodes whose signed ledgers are followed, and from which records are taken. */
export class Peers {
  readonly #config: PeersConfig;
  /** The last work with each peer; the next one waits for it, so that checkpoints are compared in order. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #attemptedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(config: PeersConfig) {
    this.#config = config;
  }

  list(): Peer[] {
    const { read } = this.#config.store;
    return allPeers(read).map((row) => asPeer(read, row));
  }

  /** @throws Problem `not_found` */
  read(id: string): Peer {
    const { read } = this.#config.store;
    return asPeer(read, requirePeer(read, id));
  }

  /**
   * Adds the node at an address and pins its key: the given one, or the one that it shows.
   *
   * @throws Problem `key_mismatch`, `peer_exists`, `peer_failed`
   */
  async add({ url: given, key }: NewPeer): Promise<Peer> {
    const { store } = this.#config;
    const url = normalUrl(given);
    requireFree(store.read, { url, key });
    const { checkpoint, name } = await this.#withClient(url, (client) => this.#pin(client, key));
    const id = `pe_${store.randomHex(20)}`;
    const at = store.instant();
    await store.write((database) => {
      requireFree(database, { url, name, key: checkpoint.key });
      insertPeer(database, {
        id,
        url,
        name,
        key: checkpoint.key,
        pinned_at: at,
        state: 'ok',
        last_contact_at: at,
        last_error: null,
        checkpoint: checkpoint.note,
      });
    });
    return this.read(id);
  }

  /** Reads the key and the checkpoint of a node, and checks that they belong together. */
  async #pin(client: PeerClient, expected?: string): Promise<{ checkpoint: PeerCheckpoint; name: string }> {
    const shown = await readPeerKey(client);
    if (expected !== undefined && expected !== shown)
      throw new Problem(
        'key_mismatch',
        'The node at this address has another key. Check the address, and compare the keys again.',
      );
    if (shown === this.#config.ownKey)
      throw new Problem('peer_exists', 'This is the address of this node itself.');
    const name = observerSchema.safeParse(keyNameOf(shown));
    if (!name.success)
      throw new PeerError('failing', 'There is no node at this address: it shows no key of one.');
    return { checkpoint: await readPeerCheckpoint(client, shown), name: name.data };
  }

  /** @throws Problem `not_found`, `key_mismatch`, `peer_exists`, `peer_failed` */
  async change(id: string, { url: given, name, follow }: PeerChange): Promise<Peer> {
    const { store } = this.#config;
    const { key } = requirePeer(store.read, id);
    const url = given === undefined ? undefined : normalUrl(given);
    if (url !== undefined) {
      requireFree(store.read, { url, except: id });
      await this.#withClient(url, (client) => this.#pin(client, key));
    }
    if (name !== undefined) requireObserver(name);
    await store.write((database) => {
      requireFree(database, { url, name, except: id });
      const row = requirePeer(database, id);
      updatePeer(database, { ...row, url: url ?? row.url, name: name ?? row.name });
      if (follow === undefined) return;
      for (const mirror of mirrorsOf(database, id))
        putMirror(database, { ...mirror, follow: follow ? 1 : 0 });
    });
    return this.read(id);
  }

  /** Forgets a peer. What was taken from it stays, and so does the evidence. @throws Problem `not_found` */
  async remove(id: string): Promise<void> {
    const { store } = this.#config;
    requirePeer(store.read, id);
    await store.write((database) => deletePeer(database, id));
  }

  /** Reads the checkpoint of a peer now. What was found is in the state of the result. @throws Problem `not_found` */
  async contact(id: string): Promise<Peer> {
    requirePeer(this.#config.store.read, id);
    await this.#inTurn(id, () => this.#verified(id, async () => undefined)).catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
    });
    return this.read(id);
  }

  /**
   * Starts taking packs and captures from a peer, after its ledger was verified.
   *
   * @throws Problem `not_found`, `shutting_down`
   */
  mirror(id: string, request: MirrorRequest): RunningJob<MirrorResult> {
    const { store, jobs, settings } = this.#config;
    if (this.#closing.signal.aborted) throw shuttingDown();
    requirePeer(store.read, id);
    return jobs.start('mirror', 'records', ({ signal, progress }) =>
      this.#inTurn(id, () => {
        const work = (client: PeerClient, checkpoint: PeerCheckpoint) => {
          const peer = requirePeer(store.read, id);
          return runMirror({ store, settings, peer, client, checkpoint, signal, progress }, request);
        };
        return this.#verified(id, work, signal);
      }),
    );
  }

  /** @throws Problem `not_found` if the peer did not rewrite its ledger */
  evidence(id: string): PeerEvidence {
    const evidence = readPeerRewrite(this.#config.store.read, id);
    if (!evidence) throw new Problem('not_found', `There is no evidence against the peer ${id}.`);
    return evidence;
  }

  /** Verifies the ledger of a peer, then does some work with its connection. */
  async #verified<Result>(
    id: string,
    work: (client: PeerClient, checkpoint: PeerCheckpoint) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const { url } = requirePeer(this.#config.store.read, id);
    return this.#withClient(
      url,
      async (client) => work(client, await verifyPeer(this.#config, client, id)),
      signal,
    );
  }

  /** @throws Problem `peer_failed` in place of the client's errors */
  async #withClient<Result>(
    url: string,
    work: (client: PeerClient) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    if (this.#closing.signal.aborted) throw shuttingDown();
    const client = new PeerClient(url, {
      timer: this.#config.timer,
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
    });
    try {
      return await work(client);
    } catch (error) {
      if (this.#closing.signal.aborted) throw shuttingDown();
      if (error instanceof PeerError) throw peerFailed(error);
      if (error instanceof CheckpointError) throw new Problem('peer_failed', error.message, { cause: error });
      throw error;
    } finally {
      client.close();
    }
  }

  /** Runs the works with one peer one after another. */
  #inTurn<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const started = (this.#last.get(id) ?? Promise.resolve()).then(work);
    const ended = () => {
      if (this.#last.get(id) === settled) this.#last.delete(id);
    };
    const settled = started.then(ended, ended);
    this.#last.set(id, settled);
    return started;
  }

  /** Starts fetching the damaged objects from peers that hold them. @throws Problem `shutting_down` */
  repair(): RunningJob<RepairResult> {
    const { jobs } = this.#config;
    if (this.#closing.signal.aborted) throw shuttingDown();
    return jobs.start('repair', 'objects', (run) => this.repairDamages(run));
  }

  /** Fetches the damaged objects from peers that hold them. @throws the signal's reason */
  repairDamages({ signal, progress }: JobRun): Promise<RepairResult> {
    const { store, log } = this.#config;
    const withClient = <Result>(url: string, work: (client: PeerClient) => Promise<Result>) =>
      this.#withClient(url, work, signal);
    return repairFromPeers({ store, log, withClient, signal, progress });
  }

  /** Repeats the mirrors that are followed from now on, each when it is due. */
  startFollowing(): void {
    this.#timer = setInterval(() => this.#mirrorDue(), this.#config.lookEveryMs ?? LOOK_EVERY_MS);
    this.#timer.unref();
  }

  #mirrorDue(): void {
    const { store, log } = this.#config;
    const now = store.clock.now();
    for (const { id, name, state } of allPeers(store.read)) {
      // A mirror that is running notes its own time when it ends.
      if (state === 'rewritten' || state === 'key_changed' || this.#last.has(id)) continue;
      for (const { kind, selection, follow, every_minutes, mirrored_at } of mirrorsOf(store.read, id)) {
        const key = `${id} ${kind} ${selection}`;
        const last = Math.max(this.#attemptedAt.get(key) ?? 0, Date.parse(mirrored_at ?? '') || 0);
        const every = (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE;
        if (follow === 0 || now - last < every) continue;
        this.#attemptedAt.set(key, now);
        const request = { [kind]: JSON.parse(selection) as unknown } as MirrorRequest;
        this.mirror(id, request).finished.catch((error: unknown) =>
          log.warn({ error, peer: name }, 'A peer could not be mirrored.'),
        );
      }
    }
  }

  /** Ends running work, and waits for it. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await Promise.all(this.#last.values());
  }
}
