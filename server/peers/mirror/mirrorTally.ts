import type { MirrorRefusal, MirrorResult } from '../../../shared/node/peer.ts';
import { Problem } from '../../../shared/problems.ts';
import { PeerError } from '../peerClient.ts';

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
  'released',
  'missing_object',
  'missing_reference',
]);

/** Counts what a mirror took and refused. */
export class MirrorTally {
  readonly #refused = new Map<MirrorRefusal, number>();
  packs = 0;
  events = 0;
  objects = 0;
  bytes = 0;
  alreadyHeld = 0;
  /** Objects that the peer withholds or released: their records were taken without the bytes. */
  notGiven = 0;
  withheld = 0;
  shown = 0;
  released = 0;
  proposed = 0;
  /** How often this run withheld something because of the peer, or showed it again. */
  standings = 0;
  deposits = 0;
  /** Parts of sets that were not taken, because the peer does not show the list of the set. */
  setsWithoutParts = 0;
  readonly #limits = new Set<string>();

  /** Says that the run reached a limit. The next one goes on. */
  reached(limit: string): void {
    this.#limits.add(limit);
  }

  refuse(reason: MirrorRefusal): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  get refusals(): number {
    return [...this.#refused.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether the mirror stops: the peer lied or stalled too often, or there is no space left. */
  get shouldStop(): boolean {
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
      ...(this.notGiven > 0 && { not_given: this.notGiven }),
      ...(this.withheld > 0 && { withheld: this.withheld }),
      ...(this.shown > 0 && { shown: this.shown }),
      ...(this.released > 0 && { released: this.released }),
      ...(this.proposed > 0 && { proposed: this.proposed }),
      ...(this.deposits > 0 && { deposits: this.deposits }),
      ...(this.setsWithoutParts > 0 && { sets_without_parts: this.setsWithoutParts }),
      ...(this.#limits.size > 0 && { limits: [...this.#limits] }),
      refused: [...this.#refused].map(([reason, count]) => ({ reason, count })),
    };
  }
}

/**
 * Returns why a record is refused, if the error is the fault of the record or of one response.
 *
 * @throws any other error: the peer is gone, this archive cannot write, the mirror was cancelled
 */
export function refusalOf(error: unknown): MirrorRefusal {
  if (error instanceof RefusedRecordError) return error.reason;
  if (error instanceof PeerError) {
    if (error.kind === 'unreachable') throw error;
    return error.kind === 'stalled' ? 'timeout' : 'missing_object';
  }
  if (!(error instanceof Problem)) throw error;
  if (error.status === 507) return 'no_room';
  if (error.status === 413) return 'too_large';
  if (error.code === 'id_taken' || error.code === 'released') return error.code;
  if (error.status === 422) return 'wrong_record';
  throw error;
}
