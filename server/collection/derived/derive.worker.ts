import { flushCompileCache } from 'node:module';
import { connectToParent } from '../../runtime/parent.ts';
import { NotDerivableError, type NotDerivableReason } from './notDerivable.ts';
import { runTask } from './runTask.ts';
import type { DeriveTask, TaskResults } from './tasks.ts';

/** What the process is asked; one at a time. */
export interface DeriveRequest {
  id: number;
  task: DeriveTask;
}

/** What it answers: first that it has started; then what was made, why nothing could be made, or that the code failed. */
export type DeriveReply =
  | { isReady: true }
  | { id: number; result: TaskResults[DeriveTask['task']] }
  | { id: number; refused: { reason: NotDerivableReason; sentence: string } }
  | { id: number; failure: string };

// It is ended without warning, and so keeps what was compiled now, before it has read anything that is not ours.
flushCompileCache();

const parent = connectToParent<DeriveRequest, DeriveReply>();

parent.listen(({ id, task }) => {
  runTask(task).then(
    (result) => parent.reply({ id, result }),
    (error: unknown) => {
      if (error instanceof NotDerivableError)
        return parent.reply({ id, refused: { reason: error.reason, sentence: error.message } });
      parent.reply({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    },
  );
});

parent.reply({ isReady: true });
