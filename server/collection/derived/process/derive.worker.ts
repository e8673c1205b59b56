import { flushCompileCache } from 'node:module';
import { connectToParent } from '../../../runtime/parent.ts';
import { NotDerivableError, type NotDerivableReason } from '../notDerivable.ts';
import { runTask } from './runTask.ts';
import type { DeriveTask, TaskResults } from './tasks.ts';

/** Sent to the process, one at a time. */
export interface DeriveRequest {
  id: number;
  task: DeriveTask;
}

/** Sent by the process: once that it is ready, then per task the result, the reason why there is none, or a failure. */
export type DeriveReply =
  | { isReady: true }
  | { id: number; result: TaskResults[DeriveTask['task']] }
  | { id: number; refused: { reason: NotDerivableReason; sentence: string } }
  | { id: number; failure: string };

// The process may be killed at any time, so the compile cache is written now, before any untrusted input is read.
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
