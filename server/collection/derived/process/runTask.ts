import { compareAsBytes, compareObjects, judgeObjects } from '../../diff/compare.ts';
import { compressContent } from '../content.ts';
import { makeText } from '../extract/makeText.ts';
import type { DeriveTask, DiffResult, DiffTask, TaskResults } from './tasks.ts';

/**
 * Runs one task in the derive process.
 *
 * @throws NotDerivableError if nothing can be derived.
 */
export async function runTask(task: DeriveTask): Promise<TaskResults[DeriveTask['task']]> {
  switch (task.task) {
    case 'text':
      return makeText(task);
    case 'diff':
      return makeDiff(task);
    case 'noise':
      return judgeObjects(task, task.rules);
  }
}

async function makeDiff(task: DiffTask): Promise<DiffResult> {
  const { rules, onlyBytes } = task;
  const comparison =
    onlyBytes === null ? await compareObjects(task, rules) : await compareAsBytes(task, rules, onlyBytes);
  return { noise: comparison.noise, content: compressContent(comparison) };
}
