import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { lastHiding } from '../store/sqlite/node/withheld.ts';

/** To be called before more is sent. @throws what `requireReadable` of its maker throws */
export type StillReadable = () => void | Promise<void>;

/**
 * Returns what ends an answer that is under way when its bytes are withheld or given up: sending them may take hours. As
 * long as nothing was, it costs a look at the last entries that did so.
 *
 * @param requireReadable requires that the reader may read all bytes of the answer, as before it began
 */
export function whileReadable(read: ReadDatabase, requireReadable: StillReadable): StillReadable {
  let checked = lastHiding(read);
  return async () => {
    const last = lastHiding(read);
    if (last === checked) return;
    await requireReadable();
    checked = last;
  };
}

/** Yields chunks for as long as they may be read. */
export async function* guarded<Chunk>(
  chunks: AsyncIterable<Chunk>,
  stillReadable: StillReadable,
): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    await stillReadable();
    yield chunk;
  }
}
