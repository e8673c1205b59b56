import { z } from 'zod';
import { MIRROR_LIMITS, type MirrorLimits } from '../../shared/limits.ts';
import {
  type BrowseQuery,
  type MirrorRequest,
  type MirrorResult,
  type NewPeer,
  type Peer,
  type PeerChange,
  type PeerEvent,
  type PeerEvidence,
  type PeerPack,
  type PeerProposal,
  type ProposalDecision,
  peerEventSchema,
  peerPackSchema,
  type RepairResult,
} from '../../shared/node/peer.ts';
import { Problem } from '../../shared/problems.ts';
import { digestSchema } from '../../shared/values/digest.ts';
import type { Slice } from '../../shared/values/list.ts';
import { readPeerRewrite } from '../ledger/peerEvidence.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { SettingsStore } from '../store/settings.ts';
import { packById } from '../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import {
  allPeers,
  deletePeer,
  insertPeer,
  mirrorsOf,
  putMirror,
  setObservePerDay,
  updatePeer,
} from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { followMirrors, runMirror } from './mirror/runMirror.ts';
import { listOf, type PeerClient, shownLine, type Timer } from './peerClient.ts';
import {
  normalUrl,
  PeerConnections,
  type PeerWork,
  pinPeer,
  requireFree,
  requireObserver,
  requireTls,
} from './peerConnections.ts';
import { asPeer, type PeerCheckpoint, requirePeer, verifyPeer } from './peerRecords.ts';
import { decideOn, listProposals } from './proposals.ts';
import { repairFromPeers } from './repair.ts';
import {
  addAsWitness,
  moveWitness,
  readWitnessKey,
  removeAsWitness,
  setCosigned,
  withWitness,
} from './witnessing.ts';

interface PeersConfig {
  store: Store;
  settings: SettingsStore;
  jobs: Jobs;
  log: Log;
  /** The verifier key of this node, which cannot be its own peer. */
  ownKey: string;
  /** Limits the time of a peer's responses; tests inject one. */
  timer?: Timer | undefined;
  /** How often due mirrors are looked for; shorter in tests. */
  pollIntervalMs?: number | undefined;
  /** What one run takes at most; less in tests. */
  limits?: Partial<MirrorLimits> | undefined;
}

/** The peers of an archive: other nodes whose signed ledgers are followed, and from which records are taken. */
export class Peers {
  readonly #config: PeersConfig;
  readonly #connections: PeerConnections;
  #endFollowing: () => void = () => {};

  constructor(config: PeersConfig) {
    this.#config = config;
    this.#connections = new PeerConnections(config.store, config.timer);
  }

  list(): Peer[] {
    const { store, settings } = this.#config;
    return allPeers(store.read).map((row) => asPeer(store.read, settings.current, row));
  }

  /** @throws Problem `not_found` */
  read(id: string): Peer {
    const { store, settings } = this.#config;
    return asPeer(store.read, settings.current, requirePeer(store.read, id));
  }

  /**
   * Adds the node at an address and pins its key and its certificate: the given ones, or those that it shows.
   *
   * @throws Problem `key_mismatch`, `certificate_mismatch`, `peer_exists`, `peer_failed`
   */
  async add({ url: given, key, tls_fingerprint, cosign = true, ask_to_cosign }: NewPeer): Promise<Peer> {
    const { store, settings, ownKey } = this.#config;
    const url = normalUrl(given);
    requireTls(url, tls_fingerprint);
    requireFree(store.read, { url, key });
    const id = `pe_${store.randomHex(20)}`;
    await this.#connections.withAddress({ url, tls_fingerprint: tls_fingerprint ?? null }, async (client) => {
      const pinned = await pinPeer(client, { expected: key, ownKey });
      const { name, checkpoint } = pinned;
      const witnessKey = ask_to_cosign ? await readWitnessKey(client) : undefined;
      // Before the peer is added, so that it is not added in part.
      if (witnessKey) withWitness(settings.current, { url, key: witnessKey });
      const at = store.instant();
      await store.write((database) => {
        requireFree(database, { url, name, key: checkpoint.key });
        if (cosign) setCosigned(database, checkpoint.key, { cosign, at });
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
          tls_fingerprint: pinned.tls_fingerprint,
          tls_seen: null,
        });
      });
      if (witnessKey) await addAsWitness(settings, { url, key: witnessKey });
    });
    return this.read(id);
  }

  /**
   * Changes a peer. At a new address, and with a new certificate, the node must have the pinned key. At a new address it
   * must also have the pinned certificate, unless another one is accepted with the change.
   *
   * @throws Problem `not_found`, `key_mismatch`, `certificate_mismatch`, `peer_exists`, `peer_failed`
   */
  async change(id: string, change: PeerChange): Promise<Peer> {
    const { store, settings } = this.#config;
    const { url: before } = requirePeer(store.read, id);
    if (change.name !== undefined) requireObserver(change.name);
    const reached = await this.#reachedAnew(id, change);
    await store.write((database) => {
      const row = requirePeer(database, id);
      requireFree(database, { url: reached.url, name: change.name, except: id });
      updatePeer(database, { ...row, ...reached, name: change.name ?? row.name });
      if (change.observe_per_day !== undefined)
        setObservePerDay(database, { id, observe_per_day: change.observe_per_day });
      if (change.cosign !== undefined)
        setCosigned(database, row.key, { cosign: change.cosign, at: store.instant() });
      if (change.follow === undefined) return;
      for (const mirror of mirrorsOf(database, id))
        putMirror(database, { ...mirror, follow: change.follow ? 1 : 0 });
    });
    const { url } = this.read(id);
    if (url !== before) await moveWitness(settings, { from: before, to: url });
    if (change.ask_to_cosign) {
      const key = await this.#connections.withPeer(id, readWitnessKey);
      await addAsWitness(settings, { url, key });
    }
    if (change.ask_to_cosign === false) await removeAsWitness(settings, url);
    return this.read(id);
  }

  /** Contacts a peer at a new address, or with a new certificate. Returns what changes in its record. */
  async #reachedAnew(
    id: string,
    { url: given, tls_fingerprint: accepted }: PeerChange,
  ): Promise<{ url?: string; tls_fingerprint?: string | null; tls_seen?: null }> {
    if (given === undefined && accepted === undefined) return {};
    const { store, ownKey } = this.#config;
    const { url: before, key, tls_fingerprint: pinned } = requirePeer(store.read, id);
    const url = given === undefined ? before : normalUrl(given);
    requireTls(url, accepted);
    requireFree(store.read, { url, except: id });
    const expected = accepted ?? (url.startsWith('https:') ? pinned : null);
    const { tls_fingerprint } = await this.#connections.withAddress(
      { url, tls_fingerprint: expected },
      (client) => pinPeer(client, { expected: key, ownKey }),
    );
    return { url, tls_fingerprint, tls_seen: null };
  }

  /** Forgets a peer. What was taken from it stays, and so does the evidence. @throws Problem `not_found` */
  async remove(id: string): Promise<void> {
    const { store, settings } = this.#config;
    const { url, key } = requirePeer(store.read, id);
    await store.write((database) => {
      setCosigned(database, key, { cosign: false, at: store.instant() });
      deletePeer(database, id);
    });
    await removeAsWitness(settings, url);
  }

  /** Reads the checkpoint of a peer now. What was found is in the state of the result. @throws Problem `not_found` */
  async contact(id: string): Promise<Peer> {
    requirePeer(this.#config.store.read, id);
    await this.#connections
      .inTurn(id, () => this.#verified(id, async () => undefined))
      .catch((error: unknown) => {
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
    const { store, jobs, ownKey } = this.#config;
    const settings = () => this.#config.settings.current;
    this.#connections.requireOpen();
    requirePeer(store.read, id);
    return jobs.start('mirror', 'records', ({ signal, progress }) =>
      this.#connections.inTurn(id, () => {
        const work = (client: PeerClient, checkpoint: PeerCheckpoint) => {
          const peer = requirePeer(store.read, id);
          const limits = { ...MIRROR_LIMITS, ...this.#config.limits };
          const run = { store, settings, peer, ownKey, client, checkpoint, signal, limits, progress };
          return runMirror(run, request);
        };
        return this.#verified(id, work, signal);
      }),
    );
  }

  /** Lists the packs of a peer, as it shows them. @throws Problem `not_found`, `peer_failed`, `certificate_mismatch` */
  packsOf(id: string, query: BrowseQuery): Promise<Slice<PeerPack>> {
    const { read } = this.#config.store;
    return this.#connections.withPeer(id, (client) => browsePacks(client, read, query));
  }

  /** Lists the timeline of a peer, as it shows it. @throws Problem as `packsOf` */
  eventsOf(id: string, query: BrowseQuery): Promise<Slice<PeerEvent>> {
    const { read } = this.#config.store;
    return this.#connections.withPeer(id, (client) => browseEvents(client, read, query));
  }

  /** Lists what a peer says of objects that this archive has otherwise, and the owner has not decided. @throws Problem `not_found` */
  proposals(id: string): PeerProposal[] {
    const { read } = this.#config.store;
    requirePeer(read, id);
    return listProposals(read, id);
  }

  /** Takes or leaves a proposal. @throws Problem `not_found`; `released` if the bytes were given up here meanwhile */
  decide(id: string, number: number, decision: ProposalDecision): Promise<PeerProposal> {
    const { store } = this.#config;
    const peer = requirePeer(store.read, id);
    return decideOn(store, { peer, number, decision });
  }

  /** @throws Problem `not_found` if the peer did not rewrite its ledger */
  evidence(id: string): PeerEvidence {
    const evidence = readPeerRewrite(this.#config.store.read, id);
    if (!evidence) throw new Problem('not_found', `There is no evidence against the peer ${id}.`);
    return evidence;
  }

  /** Works with a peer, whose ledger is not read. @throws Problem `not_found`, `peer_failed`, `certificate_mismatch`, `shutting_down` */
  withPeer<Result>(id: string, work: PeerWork<Result>): Promise<Result> {
    return this.#connections.withPeer(id, work);
  }

  /** Verifies the ledger of a peer, then does some work with its connection. */
  #verified<Result>(
    id: string,
    work: (client: PeerClient, checkpoint: PeerCheckpoint) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    return this.#connections.withPeer(
      id,
      async (client) => work(client, await verifyPeer(this.#config, client, id)),
      signal,
    );
  }

  /** Starts fetching the damaged objects from peers that hold them. @throws Problem `shutting_down` */
  repair(): RunningJob<RepairResult> {
    this.#connections.requireOpen();
    return this.#config.jobs.start('repair', 'objects', (run) => this.repairDamages(run));
  }

  /** Fetches the damaged objects from peers that hold them. @throws the signal's reason */
  repairDamages({ signal, progress }: JobRun): Promise<RepairResult> {
    const { store, log } = this.#config;
    const withPeer = <Result>(id: string, work: (client: PeerClient) => Promise<Result>) =>
      this.#connections.withPeer(id, work, signal);
    return repairFromPeers({ store, log, withPeer, signal, progress });
  }

  /** Repeats the mirrors that are followed from now on, each when it is due. */
  startFollowing(): void {
    const { store, log, pollIntervalMs } = this.#config;
    this.#endFollowing = followMirrors({
      store,
      log,
      pollIntervalMs,
      isBusy: (id) => this.#connections.isBusy(id),
      mirror: ({ id, name }, request) => {
        this.mirror(id, request).finished.catch((error: unknown) =>
          log.warn({ error, peer: name }, 'A peer could not be mirrored.'),
        );
      },
    });
  }

  /** Ends running work, and waits for it. */
  async close(): Promise<void> {
    this.#endFollowing();
    await this.#connections.close();
  }
}

/* Browsing a peer. */

/** A hundred packs have at most this size together, unless their records are very long. */
const MAX_PAGE_BYTES = 8 * 1_048_576;
const MAX_ITEMS = 100;

const ofPack = peerPackSchema.shape;

const listedPacks = z.object({
  total: z.int().min(0),
  items: listOf(
    z.object({
      id: ofPack.id,
      digest: digestSchema,
      title: shownLine(300),
      authors: listOf(z.object({ name: shownLine(200) }), 100),
      outcome: ofPack.outcome,
      tag: ofPack.tag,
      evidence: z.object({
        received_at: ofPack.received_at,
        files: ofPack.files,
        bytes: ofPack.bytes,
      }),
    }),
    MAX_ITEMS,
  ),
});

const listedEvents = z.object({
  total: z.int().min(0),
  items: listOf(
    z.object({
      ...peerEventSchema.omit({ source: true, held: true }).shape,
      observer: shownLine(200),
      source: z.object({
        id: peerEventSchema.shape.source.shape.id,
        name: shownLine(300),
        url: shownLine(4_096),
      }),
    }),
    MAX_ITEMS,
  ),
});

/** Lists the packs of a peer as it shows them, newest first. @throws PeerError */
async function browsePacks(
  client: PeerClient,
  database: ReadDatabase,
  query: BrowseQuery,
): Promise<Slice<PeerPack>> {
  const listed = await client.json(`/api/packs?${parameters(query)}`, listedPacks, MAX_PAGE_BYTES);
  const items = listed.items.slice(0, query.limit).map(({ evidence, digest, authors, ...pack }) => ({
    ...pack,
    ...evidence,
    authors: authors.map(({ name }) => name),
    held: packById(database, pack.id)?.digest === digest,
  }));
  return { items, total: listed.total };
}

/** Lists the timeline of a peer as it shows it, newest first. @throws PeerError */
async function browseEvents(
  client: PeerClient,
  database: ReadDatabase,
  query: BrowseQuery,
): Promise<Slice<PeerEvent>> {
  const listed = await client.json(`/api/events?${parameters(query)}`, listedEvents, MAX_PAGE_BYTES);
  const items = listed.items.slice(0, query.limit).map((event) => ({
    ...event,
    held: event.sha256 !== null && blobBytes(database, event.sha256) !== undefined,
  }));
  return { items, total: listed.total };
}

function parameters({ q, limit, offset }: BrowseQuery): string {
  return new URLSearchParams({
    ...(q ? { q } : {}),
    limit: String(limit),
    offset: String(offset),
  }).toString();
}
