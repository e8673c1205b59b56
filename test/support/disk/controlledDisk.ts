import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { expect } from 'vitest';
import { end, type ServedNode, serveNodeWith } from '../cli.ts';
import { temporaryFolder } from '../node.ts';

/** What happens to the calls whose path ends with `path`. */
export interface DiskRule {
  call: 'sync' | 'rename' | 'statfs';
  path: string;
  /** They fail with this error. */
  code?: string;
  /** Only this many end; the others wait. */
  passes?: number;
}

const PRELOAD = new URL('./preload.ts', import.meta.url).href;
const running = new Set<ControlledDisk>();

/** A real node in its own process, on a disk that a test watches, stops and lets fail (see `preload.ts`). */
export class ControlledDisk {
  readonly dataFolder: string;
  readonly #control: string;
  #node: ServedNode | undefined;
  #token = '';

  private constructor(folder: string) {
    this.dataFolder = join(folder, 'data');
    this.#control = join(folder, 'control');
  }

  static async serve(): Promise<ControlledDisk> {
    const disk = new ControlledDisk(await temporaryFolder());
    await mkdir(disk.#control);
    running.add(disk);
    await disk.start();
    return disk;
  }

  async start(): Promise<void> {
    this.#node = await serveNodeWith(
      {
        nodeOptions: [`--import=${PRELOAD}`],
        env: { STRONGROOM_TEST_DISK: this.#control },
      },
      this.dataFolder,
    );
    this.#token = await readFile(this.#node.token_file, 'utf8');
  }

  async kill(): Promise<void> {
    const node = this.#node;
    this.#node = undefined;
    if (node) await end(node, 'SIGKILL');
  }

  /** Sends a request as the owner: a form, a text, or else JSON. */
  send(method: string, path: string, body?: object | string): Promise<Response> {
    if (!this.#node) throw new Error('The node is not running.');
    const headers = new Headers({ Authorization: `Bearer ${this.#token}` });
    const isReady = body === undefined || body instanceof FormData || typeof body === 'string';
    if (!isReady) headers.set('Content-Type', 'application/json');
    const sent = isReady ? body : JSON.stringify(body);
    return fetch(new URL(path, this.#node.url), {
      method,
      headers,
      ...(sent !== undefined && { body: sent }),
    });
  }

  /** From now on this happens; a rule replaces the one before it. */
  async rule(rule: DiskRule): Promise<void> {
    const file = join(this.#control, 'rule.json');
    await writeFile(`${file}.new`, JSON.stringify(rule));
    await rename(`${file}.new`, file);
  }

  async endRule(): Promise<void> {
    await rm(join(this.#control, 'rule.json'));
  }

  /** Returns the calls since the last `forget`, in their order, each with its path in the data folder. */
  async calls(): Promise<string[]> {
    const lines = (await readFile(join(this.#control, 'calls'), 'utf8')).trimEnd().split('\n');
    return lines.filter(Boolean).map((line) => {
      const [call = '', ...path] = line.split(' ');
      return `${call} ${relative(this.dataFolder, path.join(' ')).replaceAll(sep, '/')}`;
    });
  }

  async forget(): Promise<void> {
    await writeFile(join(this.#control, 'calls'), '');
  }

  /** Resolves when this call was begun this many times. */
  async begun(call: string, times = 1): Promise<void> {
    const count = async () => (await this.calls()).filter((one) => one === call).length;
    await expect.poll(count, { interval: 5 }).toBe(times);
  }
}

/** For `afterEach`: ends every node. */
export async function closeControlledDisks(): Promise<void> {
  for (const disk of running) await disk.kill();
  running.clear();
}
