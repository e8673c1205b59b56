import { hashStream } from './sha256.ts';

/** A request to the worker. */
export interface HashRequest {
  id: string;
  file: File;
}

/** A message from the worker: progress, then the digest or an error message. */
export type HashReply =
  | { id: string; state: 'hashing'; bytes: number }
  | { id: string; state: 'done'; sha256: string }
  | { id: string; state: 'failed'; error: string };

const REPORT_EVERY_BYTES = 4_194_304;

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<HashRequest>) => void) | null;
  postMessage(reply: HashReply): void;
};

/** Files are hashed one at a time: two at once would slow both down. */
let queue = Promise.resolve();

scope.onmessage = ({ data }) => {
  queue = queue.then(() => hashFile(data));
};

async function hashFile({ id, file }: HashRequest): Promise<void> {
  let reported = 0;
  try {
    const { sha256, bytes } = await hashStream(file.stream(), (done) => {
      if (done - reported < REPORT_EVERY_BYTES) return;
      reported = done;
      scope.postMessage({ id, state: 'hashing', bytes: done });
    });
    scope.postMessage(
      bytes === file.size
        ? { id, state: 'done', sha256 }
        : { id, state: 'failed', error: 'The file changed while it was being read. Add it again.' },
    );
  } catch {
    scope.postMessage({ id, state: 'failed', error: 'The file could not be read. Add it again.' });
  }
}
