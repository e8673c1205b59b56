import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import pLimit from 'p-limit';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { createFolder } from '../../store/files.ts';

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
  readonly #sent: SentFile[];
  #opening: Promise<FileHandle> | undefined;
  /** Lines are written one at a time. */
  readonly #inTurn = pLimit(1);

  private constructor(file: string, sent: SentFile[]) {
    this.#file = file;
    this.#sent = sent;
  }

  /** Reads what an earlier run has noted. */
  static async open(file: string): Promise<SentFiles> {
    const sent: SentFile[] = [];
    for (const line of (await textOf(file)).split('\n').slice(0, -1)) {
      const files = filesOf(line);
      // What follows a damaged line may be damaged too. The node is asked for it.
      if (!files) break;
      sent.push(...files);
    }
    return new SentFiles(file, sent);
  }

  get all(): readonly SentFile[] {
    return this.#sent;
  }

  /** Notes a part that the node has. */
  async add(files: readonly SentFile[]): Promise<void> {
    await this.#inTurn(async () => {
      const handle = await (this.#opening ??= this.#openAnew());
      await handle.appendFile(`${JSON.stringify(files)}\n`);
      await handle.datasync();
      this.#sent.push(...files);
    });
  }

  /** Writes the complete lines to a new file, so that a line that was cut off does not spoil the next one. */
  async #openAnew(): Promise<FileHandle> {
    await createFolder(dirname(this.#file));
    const handle = await open(this.#file, 'w', 0o600);
    for (const each of this.#sent) await handle.appendFile(`${JSON.stringify([each])}\n`);
    return handle;
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

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
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
