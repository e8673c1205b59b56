import { makeText } from './makeText.ts';
import type { DeriveTask, TaskResults } from './tasks.ts';

/**
 * Does one task, in the worker's thread.
 *
 * @throws NotDerivableError where nothing can be made.
 */
export async function runTask(task: DeriveTask): Promise<TaskResults[DeriveTask['task']]> {
  switch (task.task) {
    case 'text':
      return makeText(task);
  }
}
