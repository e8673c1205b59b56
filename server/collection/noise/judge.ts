import { type Conditions, isUnconditional } from '../../../shared/alerts/alert.ts';
import type { ChosenElement, NoiseFindings, Scope, WatchChoices } from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import {
  type Change,
  type ComparableEvent,
  type EventNoise,
  newestVersion,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import type { Store } from '../../store/store.ts';
import {
  type DeriveOptions,
  type Deriver,
  noticeDamagedObjects,
  objectToRead,
} from '../derived/process/deriver.ts';
import { isPermanent, NotDerivableError, type WatchedResult } from '../derived/process/tasks.ts';

const JUDGE_TIMEOUT_MS = 15_000;

/** What comparing versions needs. */
export interface JudgeServices {
  store: DamageContext;
  deriver: Deriver;
}

/** The findings for an event, or why the versions cannot be read and whether their bytes are intact. */
export type Judgement = { noise: NoiseFindings } | { problem: string; isIntact: boolean };

/**
 * Applies a watched part and rules to two versions, in the derive process.
 *
 * @throws Problem `derivation_busy`, `shutting_down`.
 */
export async function judgeEvent(
  { store, deriver }: JudgeServices,
  { from, to }: ComparableEvent['compared'],
  scope: Scope,
  priority: DeriveOptions['priority'],
): Promise<Judgement> {
  try {
    const noise = await deriver.derive(
      {
        task: 'noise',
        from: objectToRead(store, from),
        to: objectToRead(store, to),
        scope,
      },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
    return { noise };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [from, to]);
    return { problem: error.message, isIntact: isPermanent(error.reason) };
  }
}

/** Returns what is watched of a version; undefined if its bytes are missing or damaged. */
export async function readVersion(
  { store, deriver }: JudgeServices,
  sha256: string,
  scope: Scope,
  priority: DeriveOptions['priority'] = 'normal',
): Promise<WatchedResult | undefined> {
  try {
    const object = objectToRead(store, sha256);
    return await deriver.derive(
      { task: 'watched', object, scope },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [sha256]);
    return undefined;
  }
}

export async function findChoices(
  { store, deriver }: JudgeServices & { store: Pick<Store, 'read'> },
  sourceKey: number,
  element: ChosenElement,
): Promise<WatchChoices> {
  const sha256 = newestVersion(store.read, sourceKey, null);
  if (sha256 === undefined) throw new Problem('not_found', 'The archive has no version of this source yet.');
  try {
    const object = objectToRead(store, sha256);
    const options = { timeoutMs: JUDGE_TIMEOUT_MS, priority: 'normal' } as const;
    return { choices: await deriver.derive({ task: 'choices', object, ...element }, options) };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [sha256]);
    throw new Problem('not_derivable', `The newest version cannot be read. ${error.message}`, {
      cause: error,
    });
  }
}

/** Only an object that has no text, or was given up, surely meets no condition: an extra alert is better than a missing one. */
const MEETS_NONE: ReadonlySet<string> = new Set([
  'unsupported',
  'too_large',
  'damaged',
  'encrypted',
  'released',
]);

export async function checkConditions(
  { store, deriver }: JudgeServices,
  { from, to, scope }: Change,
  conditions: Conditions,
): Promise<boolean> {
  const isFirst = from === null;
  const newer = objectToRead(store, to);
  const older = isFirst ? newer : objectToRead(store, from);
  try {
    return await deriver.derive(
      { task: 'conditions', from: older, to: newer, isFirst, scope, conditions },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority: 'low' },
    );
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [from ?? to, to]);
    return isUnconditional(conditions) || !MEETS_NONE.has(error.reason);
  }
}

type Mark = Pick<EventNoise, 'is_noise' | 'outside'>;

/**
 * Returns how to mark an event. An event whose versions cannot be read is not noise. Returns undefined if everything is
 * compared, or if the bytes are missing or damaged, so that the event stays unmarked.
 */
export function noiseMarkOf(judgement: Judgement): Mark | undefined {
  if (!('noise' in judgement)) return judgement.isIntact ? { is_noise: false, outside: false } : undefined;
  const { is_noise, outside } = judgement.noise;
  return is_noise === null ? undefined : { is_noise, outside };
}
