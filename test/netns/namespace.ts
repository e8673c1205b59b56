import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Said, Told } from './inside.ts';

const run = promisify(execFile);
const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
const INSIDE = fileURLToPath(new URL('./inside.ts', import.meta.url));

/** There can be no network namespace here; the message says why. */
export class NoNamespaceError extends Error {}

/**
 * A network namespace of its own (Linux, root, iproute2): with whatever addresses a test gives it, a hosts file of its
 * own, a web on those addresses, and a node that knows no other network.
 */
export class Namespace {
  readonly name: string;
  readonly #children: ChildProcess[] = [];
  readonly #seen: Extract<Said, { seen: unknown }>['seen'][] = [];
  readonly #asking = new Map<number, (said: Said) => void>();
  #inside: ChildProcess | undefined;
  #nextId = 1;
  #node: { url: string; token: string } | undefined;

  private constructor(name: string) {
    this.name = name;
  }

  /** @throws NoNamespaceError */
  static async open(): Promise<Namespace> {
    if (process.platform !== 'linux')
      throw new NoNamespaceError('There are network namespaces on Linux alone.');
    if (process.getuid?.() !== 0) throw new NoNamespaceError('Only root may make a network namespace.');
    const namespace = new Namespace(`strongroom-${process.pid}`);
    try {
      await mkdir(namespace.#etc, { recursive: true });
      await writeFile(join(namespace.#etc, 'resolv.conf'), '');
      await namespace.resolve({});
      await run('ip', ['netns', 'add', namespace.name]);
      await run('ip', ['-n', namespace.name, 'link', 'set', 'lo', 'up']);
    } catch (error) {
      await namespace.close();
      throw new NoNamespaceError(`No network namespace could be made: ${String(error)}`);
    }
    return namespace;
  }

  /** What of `/etc` a process sees that runs in the namespace. */
  get #etc(): string {
    return join('/etc/netns', this.name);
  }

  /** From now on names lead there; all others nowhere. The file stays the same one, which is what processes have open. */
  async resolve(names: Record<string, string>): Promise<void> {
    const lines = Object.entries({ localhost: '127.0.0.1', ...names }).map(
      ([name, address]) => `${address} ${name}\n`,
    );
    await writeFile(join(this.#etc, 'hosts'), lines.join(''));
  }

  #spawn(args: string[], stdio: ('ignore' | 'inherit' | 'pipe' | 'ipc')[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.name, process.execPath, ...args], { stdio });
    this.#children.push(child);
    return child;
  }

  /** Opens a web on port 80 of each of these addresses, which are the namespace's own. */
  async serve(...addresses: string[]): Promise<void> {
    for (const address of addresses) {
      if (!address.startsWith('127.'))
        await run('ip', ['-n', this.name, 'addr', 'add', `${address}/32`, 'dev', 'lo']);
    }
    const inside = this.#spawn([INSIDE], ['ignore', 'inherit', 'inherit', 'ipc']);
    this.#inside = inside;
    const left = new Set(addresses);
    const ready = new Promise<void>((resolve) =>
      inside.on('message', (said: Said) => {
        if ('seen' in said) this.#seen.push(said.seen);
        else if ('listening' in said) left.delete(said.listening);
        else this.#asking.get('answered' in said ? said.answered.id : said.failed.id)?.(said);
        if (left.size === 0) resolve();
      }),
    );
    for (const listen of addresses) this.#tell({ listen, port: 80 });
    await ready;
  }

  script(script: Extract<Told, { script: unknown }>['script']): void {
    this.#tell({ script });
  }

  /** The paths that an address was asked for. */
  asked(address: string): string[] {
    return this.#seen.filter((seen) => seen.address === address).map(({ path }) => path);
  }

  #tell(told: Told): void {
    this.#inside?.send(told);
  }

  /** Starts `strongroom serve` in the namespace. */
  async startNode(dataFolder: string): Promise<void> {
    const serve = ['serve', '--json', '--port', '0', '--no-collect', '--data', dataFolder];
    const { stdout } = this.#spawn([CLI, ...serve], ['ignore', 'pipe', 'inherit']);
    if (!stdout) throw new Error('The node has no output.');
    for await (const line of createInterface({ input: stdout })) {
      const { url, token_file } = JSON.parse(line) as { url: string; token_file: string };
      this.#node = { url, token: await readFile(token_file, 'utf8') };
      return;
    }
    throw new Error('The node did not start.');
  }

  /** Asks the node as its owner; gives back what it answered, as JSON. */
  async ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    if (!this.#node) throw new Error('No node was started.');
    const id = this.#nextId++;
    const init = {
      method,
      headers: { Authorization: `Bearer ${this.#node.token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    };
    const answered = new Promise<Said>((resolve) => this.#asking.set(id, resolve));
    this.#tell({ ask: { id, url: this.#node.url + path, init } });
    const said = await answered;
    this.#asking.delete(id);
    if (!('answered' in said)) throw new Error(`${method} ${path} was not answered: ${JSON.stringify(said)}`);
    if (said.answered.status >= 400) throw new Error(`${method} ${path}: ${said.answered.body}`);
    return JSON.parse(said.answered.body) as Answer;
  }

  /** Ends what runs in it and removes it. */
  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await run('ip', ['netns', 'delete', this.name]).catch(isNotThere);
    await rm(this.#etc, { recursive: true, force: true });
  }
}

/** It could not be made in the first place. */
function isNotThere(error: unknown): void {
  if (!(error instanceof Error && /No such file|ENOENT/.test(error.message))) throw error;
}
