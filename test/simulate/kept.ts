import type { PlannedStep } from './run.ts';
import type { StepName } from './steps/steps.ts';

/** A list of steps that once failed, and the seed of its ids. */
export interface KeptRun {
  name: string;
  seed: number;
  steps: readonly PlannedStep[];
}

/** Writes a list without the names of the members. */
function stepsOf(...steps: (readonly [kind: StepName, seed: number])[]): PlannedStep[] {
  return steps.map(([kind, seed]) => ({ kind, seed }));
}

/**
 * Lists of steps that once failed, as `npm run simulate -- --shrink` prints them. The trials replay each. A step that draws
 * from the dice in another way since then does something else: find the fault again before you change one.
 */
export const KEPT: readonly KeptRun[] = [
  {
    name: 'released words are not in the database of a node that was stopped right after',
    seed: 3,
    steps: stepsOf(
      ['importWarc', 1_786_134_838],
      ['publish', 1_884_104_155],
      ['importWarc', 152_297_296],
      ['publishKnownBytes', 273_553_825],
      ['release', 24_288_181],
    ),
  },
  {
    name: 'an archive that was restored without its key shows what was withheld, and is copied',
    seed: 11,
    steps: stepsOf(
      ['publish', 1_100],
      ['handIn', 1_101],
      ['addCopy', 1_102],
      ['sync', 1_103],
      ['restore', 1_104],
      ['show', 1_105],
      ['addCopy', 1_108],
      ['sync', 1_109],
    ),
  },
];
