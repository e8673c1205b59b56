import type { PlannedStep } from './run.ts';

/**
 * Finds a shorter list of steps that fails too: leaves out ever smaller parts of it, and then faults of the machine.
 *
 * @param fails runs a list, and says whether it fails in the same way
 * @param most how many lists are tried
 */
export async function shrink(
  steps: readonly PlannedStep[],
  fails: (steps: readonly PlannedStep[]) => Promise<boolean>,
  most = 80,
): Promise<PlannedStep[]> {
  let best = [...steps];
  let tries = 0;
  const attempt = async (candidate: PlannedStep[]) => {
    tries += 1;
    if (tries > most || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let part = Math.ceil(best.length / 2); part >= 1; part = Math.floor(part / 2))
    for (let from = best.length - part; from > -part && tries < most; from -= part) {
      const start = Math.max(0, from);
      await attempt([...best.slice(0, start), ...best.slice(from + part)]);
    }
  for (const [index, step] of best.entries()) {
    if (step.kill === undefined && step.fail === undefined) continue;
    await attempt(best.with(index, { kind: step.kind, seed: step.seed }));
  }
  return best;
}
