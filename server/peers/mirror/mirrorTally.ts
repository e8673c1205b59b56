import type { MirrorRefusal, MirrorResult } from '../../../shared/node/peer.ts';

/** A record of a peer that is not taken. Refusals are counted by their reason. */
export class RefusedRecordError extends Error {
  readonly reason: MirrorRefusal;

  constructor(reason: MirrorRefusal, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'RefusedRecordError';
    this.reason = reason;
  }
}

/** After this many refusals for a lie, and this many responses that stalled, nothing more is asked of the peer. */
const MAX_LIES = 100;
const MAX_STALLS = 3;
/** Reasons for which an honest peer may be refused too. */
const HONEST: ReadonlySet<MirrorRefusal> = new Set([
  'no_room',
  'id_taken',
  'missing_object',
  'missing_reference',
]);

/** Counts what a mirror took and refused. */
export class MirrorTally {
  readonly #refused = new Map<MirrorRefusal, number>();
  packs = 0;
  captures = 0;
  events = 0;
  objects = 0;
  bytes = 0;
  alreadyHeld = 0;

  refuse(reason: MirrorRefusal): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  get refusals(): number {
    return [...this.#refused.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether the mirror stops: the peer lied or stalled too often, or there is no space left. */
  get isEnough(): boolean {
    const lies = [...this.#refused].reduce(
      (sum, [reason, count]) => sum + (HONEST.has(reason) ? 0 : count),
      0,
    );
    return lies >= MAX_LIES || this.#count('timeout') >= MAX_STALLS || this.#count('no_room') > 0;
  }

  #count(reason: MirrorRefusal): number {
    return this.#refused.get(reason) ?? 0;
  }

  result(): MirrorResult {
    return {
      packs: this.packs,
      events: this.events,
      objects: this.objects,
      bytes: this.bytes,
      already_held: this.alreadyHeld,
      refused: [...this.#refused].map(([reason, count]) => ({ reason, count })),
    };
  }
}
