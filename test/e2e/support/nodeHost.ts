import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeProcess } from './nodeProcess.ts';
import type { NodeRequest, NodeResponse } from './nodesInside.ts';

/** A process that opens a new node for each test, which takes a tenth of the time of a process for each. */
export class NodeHost {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, (said: NodeResponse) => void>();
  /** The folder of an archive to copy, which stays empty. */
  #empty: Promise<string> | undefined;
  #errors = '';
  #nextId = 1;

  constructor() {
    const script = join(import.meta.dirname, 'nodesInside.ts');
    this.#child = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.#child.on('message', (said: NodeResponse) => this.#waiting.get(said.id)?.(said));
    this.#ended = once(this.#child, 'exit');
  }

  /**
   * Opens a node with an archive of its own, and removes it at the end; `dataFolder` names a folder that stays. With
   * `isCopied` the archive is a copy of an empty one, which takes a quarter of the time, but all copies have the same key.
   * With `isLoopbackPublic`, no address is private for it; with `packBytes`, it publishes drafts of more bytes as sets.
   */
  async open({
    dataFolder: kept,
    isCopied = false,
    isLoopbackPublic = false,
    packBytes,
  }: {
    dataFolder?: string;
    isCopied?: boolean;
    isLoopbackPublic?: boolean;
    packBytes?: number | undefined;
  } = {}): Promise<NodeProcess> {
    const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'strongroom-e2e-')) : undefined;
    const dataFolder = kept ?? join(folder ?? '', 'data');
    if (isCopied) await cp(await this.#emptyArchive(), dataFolder, { recursive: true });
    const said = await this.#request((id) => ({ open: dataFolder, id, isLoopbackPublic, packBytes }));
    if (!('opened' in said)) throw new Error(`The node did not open: ${JSON.stringify(said)}`);
    return {
      ...said.opened,
      dataFolder,
      stop: async () => {
        const closed = await this.#request((id) => ({ close: dataFolder, id }));
        if ('failed' in closed) throw new Error(`The node did not close: ${closed.failed}`);
        if (folder !== undefined) await rm(folder, { recursive: true, force: true });
      },
    };
  }

  #emptyArchive(): Promise<string> {
    this.#empty ??= (async () => {
      const dataFolder = await mkdtemp(join(tmpdir(), 'strongroom-e2e-'));
      await (await this.open({ dataFolder })).stop();
      return dataFolder;
    })();
    return this.#empty;
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#child.disconnect();
    await this.#ended;
    if (this.#empty) await rm(await this.#empty, { recursive: true, force: true });
  }

  async #request(requestOf: (id: number) => NodeRequest): Promise<NodeResponse> {
    const id = this.#nextId++;
    const said = new Promise<NodeResponse>((resolve) => this.#waiting.set(id, resolve));
    const endedEarly = this.#ended.then((): never => {
      throw new Error(`The process of the nodes ended:\n${this.#errors}`);
    });
    endedEarly.catch(() => {});
    this.#child.send(requestOf(id));
    const answer = await Promise.race([said, endedEarly]);
    this.#waiting.delete(id);
    return answer;
  }
}
