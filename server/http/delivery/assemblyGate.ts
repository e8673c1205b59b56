import type { Request, Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { after } from '../../runtime/background.ts';

interface Limits {
  /** What all answers together may hold, in MB. */
  maxMb: number;
  /** What the answers to one address may hold, so that it leaves room for others. */
  maxMbOfAddress: number;
  maxWaiting: number;
  maxWaitMs: number;
}

const LIMITS: Limits = { maxMb: 128, maxMbOfAddress: 64, maxWaiting: 200, maxWaitMs: 10_000 };
const RETRY_AFTER_SECONDS = 10;

interface Entrant {
  address: string;
  mb: number;
  admit: () => void;
}

/** What a request calls when its work is over. */
type Leave = () => void;

/**
 * Bounds the memory of answers that are assembled for readers before they are sent. Each route says in the table what one
 * answer may hold (`memoryMb`). It counts until the response is closed and the work for it is over: a reader that does not
 * read holds it until it is disconnected as stalled, and one that disconnects leaves work behind. Others wait in turn, for a
 * bounded time. The owner does not wait: nobody else asks as them.
 */
export class AssemblyGate {
  readonly #limits: Limits;
  readonly #waiting: Entrant[] = [];
  readonly #heldBy = new Map<string, number>();
  #held = 0;

  constructor(limits: Partial<Limits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Resolves when the answer may be assembled.
   *
   * @returns what must be called when the work for the answer is over, also if it failed
   * @throws Problem `busy` if too many wait, this one waited too long, or nobody waits for it any more
   */
  async enter(request: Request, response: Response, mb: number): Promise<Leave> {
    const entrant = { address: request.socket.remoteAddress ?? '', mb, admit: () => {} };
    if (response.closed || request.socket.destroyed) throw busy();
    if (this.#waiting.length === 0 && this.#fits(entrant)) return this.#hold(entrant, response);
    if (this.#waiting.length >= this.#limits.maxWaiting) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const leave = () => {
      const at = this.#waiting.indexOf(entrant);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(busy());
      this.#admitNext();
    };
    const timer = after(this.#limits.maxWaitMs, leave);
    response.once('close', leave);
    entrant.admit = () => {
      clearTimeout(timer);
      response.off('close', leave);
      resolve(this.#hold(entrant, response));
    };
    this.#waiting.push(entrant);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      response.off('close', leave);
    }
  }

  #fits({ address, mb }: Entrant): boolean {
    const { maxMb, maxMbOfAddress } = this.#limits;
    return this.#held + mb <= maxMb && (this.#heldBy.get(address) ?? 0) + mb <= maxMbOfAddress;
  }

  #hold({ address, mb }: Entrant, response: Response): Leave {
    this.#add(address, mb);
    let isClosed = response.closed;
    let isDone = false;
    const release = () => {
      if (!isClosed || !isDone) return;
      this.#add(address, -mb);
      this.#admitNext();
    };
    response.once('close', () => {
      isClosed = true;
      release();
    });
    return () => {
      isDone = true;
      release();
    };
  }

  #add(address: string, mb: number): void {
    this.#held += mb;
    const held = (this.#heldBy.get(address) ?? 0) + mb;
    if (held > 0) this.#heldBy.set(address, held);
    else this.#heldBy.delete(address);
  }

  /** In turn, but an address that holds its share does not hold up the others. */
  #admitNext(): void {
    for (;;) {
      const next = this.#waiting.findIndex((entrant) => this.#fits(entrant));
      if (next < 0) return;
      this.#waiting.splice(next, 1)[0]?.admit();
    }
  }
}

function busy(): Problem {
  return new Problem('busy', 'Many such files are being made for others. Try again in a moment.', {
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });
}
