import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { openNode, type RunningNode } from '../../../server/node.ts';
import { createLog } from '../../../server/runtime/log.ts';
import { type OwnerApi, openOwnerApi } from '../ownerApi.ts';

/** A node of the demonstration. It does nothing by itself, so that everything happens in the intended order. */
export class DemoNode {
  readonly #folder: string;
  #node: RunningNode;
  api: OwnerApi;

  private constructor(folder: string, node: RunningNode, api: OwnerApi) {
    this.#folder = folder;
    this.#node = node;
    this.api = api;
  }

  static async open(folder: string): Promise<DemoNode> {
    const node = await start(folder, 0);
    return new DemoNode(folder, node, await openOwnerApi(node));
  }

  get url(): string {
    return this.#node.url;
  }

  get folder(): string {
    return this.#folder;
  }

  signInLink(): string {
    return this.#node.createSignInLink();
  }

  async key(): Promise<string> {
    return (await (await fetch(new URL('/api/ledger/key', this.url))).text()).trim();
  }

  /** Copies the archive as it is now. */
  async copyTo(folder: string): Promise<void> {
    await this.#node.close();
    await cp(this.#folder, folder, { recursive: true });
    await this.#restart(this.#folder);
  }

  /** Goes on, at the same address, with the archive in another folder. */
  async continueWith(folder: string): Promise<void> {
    await this.#node.close();
    await this.#restart(folder);
  }

  async #restart(folder: string): Promise<void> {
    this.#node = await start(folder, Number(new URL(this.#node.url).port));
    this.api = await openOwnerApi(this.#node);
  }

  close(): Promise<void> {
    return this.#node.close();
  }
}

function start(folder: string, port: number): Promise<RunningNode> {
  return openNode({
    dataFolder: join(folder, 'data'),
    port,
    collect: false,
    audit: false,
    follow: false,
    prove: false,
    discovery: { addresses: [] },
    log: createLog('silent'),
  });
}
