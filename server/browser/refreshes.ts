import { cancelRefresh } from './inPage/refresh.js';
import { ignoringLateErrors, type Params, type ProtocolEvent } from './protocol.ts';
import type { Frame, Frames } from './readPage.ts';

/** A shorter one cannot be taken back in time. The browser follows it at once, and the page's clock waits for that. */
const MIN_DELAY_MS = 100;

interface Refresh {
  frame: Pick<Frame, 'id' | 'session'>;
  url: string;
  /** By the clock of the page. */
  due: number;
}

/**
 * The refreshes that documents wait for, by `<meta http-equiv="refresh">` or the header `Refresh`. The browser counts their
 * seconds by its own clock, so that a slow answer would decide which document is read. So each is taken back as soon as
 * it is known, and followed when it is due by the clock of the page.
 */
export class Refreshes {
  readonly #frames: Frames;
  readonly #maxMs: number;
  readonly #waiting = new Map<string, Refresh>();
  /** The frames that the browser leaves at once. */
  readonly #leaving = new Set<string>();

  /** @param maxMs later ones are not followed */
  constructor(frames: Frames, maxMs: number) {
    this.#frames = frames;
    this.#maxMs = maxMs;
  }

  /** Whether one is going to be followed. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether the browser follows one just now. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Takes those that are due. */
  takeDue(now: number): Refresh[] {
    const due = [...this.#waiting.values()].filter((refresh) => refresh.due <= now);
    for (const { frame } of due) this.#waiting.delete(frame.id);
    return due;
  }

  onEvent({ method, params, sessionId }: ProtocolEvent, now: number): unknown {
    const id = String(params.frameId ?? (params.frame as Params | undefined)?.id);
    switch (method) {
      case 'Page.frameScheduledNavigation':
        return this.#onScheduled({ id, session: sessionId }, params, now);
      // The browser goes on by itself, or the page gave it up.
      case 'Page.frameRequestedNavigation':
      case 'Page.frameClearedScheduledNavigation':
        return this.#leaving.delete(id);
      case 'Page.frameNavigated':
      case 'Page.frameDetached':
        this.#leaving.delete(id);
        return this.#waiting.delete(id);
      default:
        return undefined;
    }
  }

  #onScheduled(frame: Refresh['frame'], { reason, url, delay }: Params, now: number): unknown {
    // Where `cancelRefresh` leads to is not followed either.
    if (!/^(metaTag|httpHeader)Refresh$/.test(String(reason)) || !/^https?:/i.test(String(url)))
      return undefined;
    const ms = Number(delay) * 1000;
    if (ms < MIN_DELAY_MS) return this.#leaving.add(frame.id);
    const due = now + ms;
    // As in a browser, the one that is due first counts.
    const earlier = this.#waiting.get(frame.id)?.due ?? this.#maxMs + 1;
    if (due < earlier) this.#waiting.set(frame.id, { frame, url: String(url), due });
    return ignoringLateErrors(this.#frames.evaluate(frame, `(${String(cancelRefresh)})()`));
  }
}
