import { Problem } from '../../shared/problems.ts';
import { CheckpointError } from '../ledger/checkpoint.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import type { Store } from '../store/store.ts';
import { CertificateError, type PeerAddress, PeerClient, PeerError } from './peerClient.ts';
import { peerFailed, recordCertificate, requirePeer } from './peerRecords.ts';
import type { Timer } from './responseDeadline.ts';

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
