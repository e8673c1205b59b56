import { observerSchema } from '../../shared/collection/captures.ts';
import { Problem } from '../../shared/problems.ts';
import { CheckpointError } from '../ledger/checkpoint.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import { shuttingDown } from '../runtime/jobs.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { allPeers } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { CertificateError, type PeerAddress, PeerClient, PeerError, type Timer } from './peerClient.ts';
import {
  type PeerCheckpoint,
  peerFailed,
  readPeerCheckpoint,
  readPeerKey,
  recordCertificate,
  requirePeer,
} from './peerRecords.ts';

/** A task that uses the connections to a peer. */
export type PeerWork<Result> = (client: PeerClient) => Promise<Result>;

/** Opens the connections to peers, and closes all of them when the node ends. */
export class PeerConnections {
  readonly #store: Store;
  readonly #timer: Timer | undefined;
  /** The last task with each peer. The next one waits for it, so that checkpoints are compared in order. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(store: Store, timer: Timer | undefined) {
    this.#store = store;
    this.#timer = timer;
  }

  /** @throws Problem `shutting_down` */
  requireOpen(): void {
    if (this.#closing.signal.aborted) throw shuttingDown();
  }

  /** Works with the node at an address. @throws Problem `peer_failed`, `certificate_mismatch`, `shutting_down` */
  async withAddress<Result>(
    address: PeerAddress,
    work: PeerWork<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    this.requireOpen();
    const client = new PeerClient(address, {
      timer: this.#timer,
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
    });
    try {
      return await work(client);
    } catch (error) {
      this.requireOpen();
      if (error instanceof CertificateError)
        throw new Problem('certificate_mismatch', error.message, { cause: error });
      if (error instanceof PeerError) throw peerFailed(error);
      if (error instanceof CheckpointError) throw new Problem('peer_failed', error.message, { cause: error });
      throw error;
    } finally {
      client.close();
    }
  }

  /**
   * Works with a peer. If it shows another certificate than the pinned one, that is recorded.
   *
   * @throws Problem `not_found`, `peer_failed`, `certificate_mismatch`, `shutting_down`
   */
  async withPeer<Result>(id: string, work: PeerWork<Result>, signal?: AbortSignal): Promise<Result> {
    const peer = requirePeer(this.#store.read, id);
    try {
      return await this.withAddress(peer, work, signal);
    } catch (error) {
      const seen =
        error instanceof Problem && error.cause instanceof CertificateError ? error.cause : undefined;
      if (seen) await recordCertificate(this.#store, id, seen);
      throw error;
    }
  }

  /** Runs the tasks with one peer one after another. */
  inTurn<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const started = (this.#last.get(id) ?? Promise.resolve()).then(work);
    const ended = () => {
      if (this.#last.get(id) === settled) this.#last.delete(id);
    };
    const settled = started.then(ended, ended);
    this.#last.set(id, settled);
    return started;
  }

  isBusy(id: string): boolean {
    return this.#last.has(id);
  }

  /** Ends running work, and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#last.values());
  }
}

/** What a node shows at the first contact. */
interface PinnedPeer {
  checkpoint: PeerCheckpoint;
  name: string;
  tls_fingerprint: string | null;
}

/**
 * Reads the key and the checkpoint of a node, and checks that they belong together.
 *
 * @param expected the key that the node must have; any if undefined
 * @throws Problem `key_mismatch`, `peer_exists` if it is this node; PeerError; CheckpointError
 */
export async function pinPeer(
  client: PeerClient,
  { expected, ownKey }: { expected?: string | undefined; ownKey: string },
): Promise<PinnedPeer> {
  const shown = await readPeerKey(client);
  if (expected !== undefined && expected !== shown)
    throw new Problem(
      'key_mismatch',
      'The node at this address has a different key. Check the address, and compare the keys again.',
    );
  if (shown === ownKey) throw new Problem('peer_exists', 'This is the address of this node itself.');
  const name = observerSchema.safeParse(keyNameOf(shown));
  if (!name.success)
    throw new PeerError('failing', 'There is no node at this address: it does not provide a key.');
  const checkpoint = await readPeerCheckpoint(client, shown);
  return { checkpoint, name: name.data, tls_fingerprint: client.certificate };
}

/** Returns the address of a node in the form that is kept. */
export function normalUrl(given: string): string {
  return new URL(given).href.replace(/\/+$/, '');
}

/** @throws Problem `invalid_field` if a certificate is expected at an address that is not https */
export function requireTls(url: string, fingerprint: string | undefined): void {
  if (fingerprint === undefined || url.startsWith('https:')) return;
  const message = 'Only an address that begins with https has a certificate.';
  throw new Problem('invalid_field', message, { errors: [{ path: '/tls_fingerprint', message }] });
}

/** @throws Problem `invalid_field` */
export function requireObserver(name: string): void {
  const parsed = observerSchema.safeParse(name);
  const [issue] = parsed.error?.issues ?? [];
  if (issue)
    throw new Problem('invalid_field', issue.message, {
      errors: [{ path: '/name', message: issue.message }],
    });
}

/** @throws Problem `peer_exists` if another peer has the address, the key or the name */
export function requireFree(
  database: ReadDatabase,
  {
    url,
    name,
    key,
    except,
  }: { url?: string | undefined; name?: string | undefined; key?: string | undefined; except?: string },
): void {
  const taken = allPeers(database).find(
    (row) => row.id !== except && (row.url === url || row.name === name || row.key === key),
  );
  if (taken)
    throw new Problem('peer_exists', `${taken.name} is already a peer, at ${taken.url}.`, {
      members: { peer: taken.id },
    });
}
