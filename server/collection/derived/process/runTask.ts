import { compareAsBytes, compareWithPages, judgeObjects } from '../../diff/compare.ts';
import { summarize } from '../../diff/summarize.ts';
import { makePage } from '../../view/page/makePage.ts';
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
    case 'page':
      return makePage(task);
    case 'links':
      // Loaded with the first source that is followed.
      return (await import('../../follow/links/makeLinks.ts')).makeLinks(task);
  }
}

async function makeDiff(task: DiffTask): Promise<DiffResult> {
  const { rules, onlyBytes } = task;
  const { comparison, pages } =
    onlyBytes === null
      ? await compareWithPages(task, rules)
      : { comparison: await compareAsBytes(task, rules, onlyBytes), pages: null };
  return {
    noise: comparison.noise,
    summary: summarize(comparison, pages),
    content: compressContent(comparison),
  };
}
