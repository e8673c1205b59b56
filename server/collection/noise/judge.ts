import type { NoiseFindings, NoiseRule } from '../../../shared/noise.ts';
import type { DamageContext } from '../../fixity/confirmDamage.ts';
import type { ComparableEvent } from '../../store/sqlite/collection/eventNoise.ts';
import type { DeriveOptions, Deriver } from '../derived/deriver.ts';
import { NotDerivableError } from '../derived/notDerivable.ts';
import { noticeDamagedObjects } from '../derived/noticeDamagedObjects.ts';
import { objectToRead } from '../derived/objectToRead.ts';

const JUDGE_TIMEOUT_MS = 15_000;

export interface Judge {
  store: DamageContext;
  deriver: Deriver;
}

/** What the rules make of an event, or why that cannot be told. */
export type Judgement = { noise: NoiseFindings } | { problem: string; isHeld: boolean };

/**
 * Applies rules to the two versions of an event, in the worker.
 *
 * @throws Problem `derivation_busy`, `shutting_down`.
 */
export async function judgeEvent(
  { store, deriver }: Judge,
  event: Pick<ComparableEvent, 'sha256' | 'previous_sha256'>,
  rules: readonly NoiseRule[],
  priority: DeriveOptions['priority'],
): Promise<Judgement> {
  try {
    const noise = await deriver.derive(
      {
        task: 'noise',
        from: objectToRead(store, event.previous_sha256),
        to: objectToRead(store, event.sha256),
        rules,
      },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
    return { noise };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [event.previous_sha256, event.sha256]);
    const isHeld = error.reason !== 'object_missing' && error.reason !== 'object_damaged';
    return { problem: error.message, isHeld };
  }
}

/**
 * Whether to mark an event as noise. What cannot be told is no noise; undefined where the bytes are not there to be
 * looked at, and nothing is said.
 */
export function markOf(judgement: Judgement): boolean | undefined {
  if ('noise' in judgement) return judgement.noise.is_noise ?? undefined;
  return judgement.isHeld ? false : undefined;
}
