import type { NoiseFindings, NoiseRule } from '../../../shared/collection/noise.ts';
import type { DamageContext } from '../../fixity/confirmDamage.ts';
import type { ComparableEvent } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { objectToRead } from '../derived/body/objectToRead.ts';
import { isPermanent, NotDerivableError } from '../derived/notDerivable.ts';
import { noticeDamagedObjects } from '../derived/noticeDamagedObjects.ts';
import type { DeriveOptions, Deriver } from '../derived/process/deriver.ts';

const JUDGE_TIMEOUT_MS = 15_000;

export interface JudgeServices {
  store: DamageContext;
  deriver: Deriver;
}

/** The findings of the rules for an event, or why the versions cannot be read and whether their bytes are intact. */
export type Judgement = { noise: NoiseFindings } | { problem: string; isIntact: boolean };

/**
 * Applies rules to the two versions of an event, in the derive process.
 *
 * @throws Problem `derivation_busy`, `shutting_down`.
 */
export async function judgeEvent(
  { store, deriver }: JudgeServices,
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
    return { problem: error.message, isIntact: isPermanent(error.reason) };
  }
}

/**
 * Returns whether to mark an event as noise. An event whose versions cannot be read is not noise. Returns undefined if
 * there are no rules, or if the bytes are missing or damaged, so that the event stays unmarked.
 */
export function noiseMarkOf(judgement: Judgement): boolean | undefined {
  if ('noise' in judgement) return judgement.noise.is_noise ?? undefined;
  return judgement.isIntact ? false : undefined;
}
