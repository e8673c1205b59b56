import type { HashReply, HashRequest } from './hash.worker.ts';

/**
 * Hashes files in a worker, so that the page stays responsive. The worker ends after the last file. Returns a
 * function that stops it.
 */
export function hashFiles(files: readonly HashRequest[], onReply: (reply: HashReply) => void): () => void {
  if (files.length === 0) return () => {};
  const worker = new Worker(new URL('./hash.worker.ts', import.meta.url), { type: 'module' });
  let left = files.length;
  worker.onmessage = ({ data }: MessageEvent<HashReply>) => {
    onReply(data);
    if (data.state !== 'hashing') left -= 1;
    if (left === 0) worker.terminate();
  };
  worker.onerror = () => {
    for (const { id } of files)
      onReply({ id, state: 'failed', error: 'Hashing could not be started in this browser.' });
    worker.terminate();
  };
  for (const file of files) worker.postMessage(file);
  return () => worker.terminate();
}
