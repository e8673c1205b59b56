import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import pLimit from 'p-limit';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { createFolder, syncFolder } from '../../store/files.ts';

/** A file of the folder, or a piece of one, that a part on the node holds. */
export interface SentFile {
  /** The path in the folder. */
  path: string;
  /** What the file was when it was sent. */
  size: number;
  modified: string;
  /** The first byte of the piece; 0 for a whole file. */
  start: number;
  bytes: number;
  /** The part, and the path in it. */
  pack: string;
  name: string;
  sha256: string;
}

/**
 * What was sent of a folder that is being published: a line for each part, written and synced once the node has
 * acknowledged it. A line that a kill cut off is left out; the node is asked for its part.
 */
export class SentFiles {
  readonly #file: string;
  /** The number of complete lines that an earlier run left. They are not kept in memory. */
  readonly #earlier: number;
  #opening: Promise<FileHandle> | undefined;
  /** Lines are written one at a time. */
  readonly #inTurn = pLimit(1);

  private constructor(file: string, earlier: number) {
    this.#file = file;
    this.#earlier = earlier;
  }

  /** @param known is called with the files of each part that an earlier run has noted. */
  static async open(file: string, known: (files: readonly SentFile[]) => void): Promise<SentFiles> {
    let earlier = 0;
    for await (const line of linesOf(file)) {
      const files = filesOf(line);
      // What follows a damaged line may be damaged too. The node is asked for it.
      if (!files) break;
      known(files);
      earlier += 1;
    }
    return new SentFiles(file, earlier);
  }

  /** Notes a part that the node has. */
  async add(files: readonly SentFile[]): Promise<void> {
    await this.#inTurn(async () => {
      const handle = await (this.#opening ??= this.#openAnew());
      await handle.appendFile(`${JSON.stringify(files)}\n`);
      await handle.datasync();
    });
  }

  /**
   * Copies the complete lines to a new file, so that a line that was cut off does not spoil the next one. It takes the
   * place of the old one once it has them all: a part that was noted by half would be planned, and sent, as another one.
   */
  async #openAnew(): Promise<FileHandle> {
    await createFolder(dirname(this.#file));
    const written = `${this.#file}.new`;
    const handle = await open(written, 'w', 0o600);
    try {
      let left = this.#earlier;
      for await (const line of linesOf(this.#file)) {
        if (left === 0) break;
        await handle.appendFile(`${line}\n`);
        left -= 1;
      }
      await handle.datasync();
      await rename(written, this.#file);
      await syncFolder(dirname(this.#file));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const handle = await this.#opening;
    this.#opening = undefined;
    await handle?.close();
  }

  /** Deletes the notes, once the set is published. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.#file, { force: true });
  }
}

/** Yields the lines that end with a line feed; none if there are no notes. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Returns the files that a line lists; undefined if it is not a line of this program. */
function filesOf(line: string): SentFile[] | undefined {
  try {
    const files = JSON.parse(line) as unknown;
    return Array.isArray(files) ? (files as SentFile[]) : undefined;
  } catch {
    return undefined;
  }
}
