import type { HashReply } from '../../../hashing/hash.worker.ts';
import { hashFiles } from '../../../hashing/hashFiles.ts';
import type { DraftFile } from './draftFile.ts';

/** A thousand small files are hashed in a moment. Limits how often the page is rendered meanwhile. */
const SHOW_EVERY_MS = 80;

/** Hashes the files of which this browser has the content. Reports the latest reply of each file, by its id. */
export function hashDraftFiles(
  files: readonly DraftFile[],
  onReplies: (replies: ReadonlyMap<string, HashReply>) => void,
): void {
  const waiting = new Map<string, HashReply>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const requests = files.flatMap(({ id, file }) => (file ? [{ id, file }] : []));
  hashFiles(requests, (reply) => {
    waiting.set(reply.id, reply);
    timer ??= setTimeout(() => {
      timer = undefined;
      onReplies(new Map(waiting));
      waiting.clear();
    }, SHOW_EVERY_MS);
  });
}
