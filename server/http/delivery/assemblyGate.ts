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

/**
 * Bounds the memory of answers that are assembled for readers before they are sent. Each route says in the table what one
 * answer may hold (`memoryMb`). It counts until the response is closed: a reader that does not read holds it until it is
 * disconnected as stalled. Others wait in turn, for a bounded time. The owner does not wait: nobody else asks as them.
 */
export class AssemblyGate {
  readonly #limits: Limits;
  readonly #waiting: Entrant[] = [];
  readonly #heldBy = new Map<string, number>();
  #held = 0;

  constructor(limits: Partial<Limits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Resolves when the answer may be assembled. @throws Problem `busy` if too many wait, or this one waited too long */
  async enter(request: Request, response: Response, mb: number): Promise<void> {
    const entrant = { address: request.socket.remoteAddress ?? '', mb, admit: () => {} };
    if (this.#waiting.length === 0 && this.#fits(entrant)) return this.#hold(entrant, response);
    if (this.#waiting.length >= this.#limits.maxWaiting) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
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
      this.#hold(entrant, response);
      resolve();
    };
    this.#waiting.push(entrant);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      response.off('close', leave);
    }
  }

  #fits({ address, mb }: Entrant): boolean {
    const { maxMb, maxMbOfAddress } = this.#limits;
    return this.#held + mb <= maxMb && (this.#heldBy.get(address) ?? 0) + mb <= maxMbOfAddress;
  }

  #hold({ address, mb }: Entrant, response: Response): void {
    this.#add(address, mb);
    response.once('close', () => {
      this.#add(address, -mb);
      this.#admitNext();
    });
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
