import { flushCompileCache } from 'node:module';
import { connectToParent } from '../../../runtime/child.ts';
import {
  checkObjects,
  compareAsBytes,
  compareWithPages,
  judgeObjects,
  readWatched,
} from '../../diff/compare.ts';
import { summarize } from '../../diff/summarize.ts';
import { makePage } from '../../view/page/makePage.ts';
import { makeText, searchedText } from '../extract/extractText.ts';
import {
  anchoredPassage,
  changeOfPassage,
  hasWords,
  isSeen,
  placedPassage,
  readText,
} from '../passages/inText.ts';
import {
  compressContent,
  type DeriveTask,
  type DiffResult,
  type DiffTask,
  NotDerivableError,
  type NotDerivableReason,
  type TaskResults,
} from './tasks.ts';

/**
 * Runs one task in the derive process.
 *
 * @throws NotDerivableError if nothing can be derived.
 */
async function runTask(task: DeriveTask): Promise<TaskResults[DeriveTask['task']]> {
  switch (task.task) {
    case 'text':
      return makeText(task);
    case 'searched':
      return searchedText(task);
    case 'words':
      return hasWords(task);
    case 'place':
      return placedPassage(task.passage, readText(task.text));
    case 'place_in_document':
      // Loaded with the first quotation.
      return (await import('../passages/inDocument.ts')).placeInDocument(task.object, task.passage);
    case 'anchor':
      return anchoredPassage(task.passage, readText(task.text));
    case 'passage_change':
      return changeOfPassage(task);
    case 'see':
      return isSeen(task);
    case 'diff':
      return makeDiff(task);
    case 'noise':
      return judgeObjects(task, task.scope);
    case 'conditions':
      return checkObjects(task);
    case 'watched':
      return readWatched(task);
    case 'choices':
      return (await import('../../noise/choices.ts')).findChoices(task);
    case 'page':
      return makePage(task);
    case 'pictures':
      return (await import('../../pages/pictures.ts')).comparePictures(task.from, task.to);
    case 'thumbnail':
      return (await import('../../pages/pictures.ts')).makeThumbnail(task.object);
    case 'links':
      // Loaded with the first source that is followed.
      return (await import('../../follow/makeLinks.ts')).makeLinks(task);
  }
}

async function makeDiff(task: DiffTask): Promise<DiffResult> {
  const { scope, onlyBytes } = task;
  const { comparison, pages } =
    onlyBytes === null
      ? await compareWithPages(task, scope)
      : { comparison: await compareAsBytes(task, scope, onlyBytes), pages: null };
  return {
    noise: comparison.noise,
    summary: summarize(comparison, pages),
    content: compressContent(comparison),
  };
}

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
