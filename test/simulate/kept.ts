import type { PlannedStep } from './run.ts';

/** Lists of steps that once failed, as `npm run simulate -- --shrink` prints them. Each is replayed by the trials. */
export const KEPT: readonly { name: string; seed: number; steps: readonly PlannedStep[] }[] = [];
