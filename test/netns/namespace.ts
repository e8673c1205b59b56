import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ReaderLimits } from '../../server/config.ts';
import { NODE_OPTIONS } from '../support/cli.ts';
import type { Instruction, LeftOver, Said } from './inside.ts';

const run = promisify(execFile);
const NODE = fileURLToPath(new URL('./nodeWithReaders.ts', import.meta.url));
const INSIDE = fileURLToPath(new URL('./inside.ts', import.meta.url));

/** The node that runs in a namespace. */
interface NodeInside {
  child: ChildProcess;
  url: string;
  token: string;
  pid: number;
  /** The lines of its log. */
  log: string[];
}

/** There can be no network namespace here; the message says why. */
class NoNamespaceError extends Error {}

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
  #stalling: ((ports: number[]) => void) | undefined;
  #left: ((leftOver: LeftOver[]) => void) | undefined;
  #node: NodeInside | undefined;

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
      throw new NoNamespaceError(
        `Install iproute2, and run this container with the right to create network namespaces: ${String(error)}`,
      );
    }
    return namespace;
  }

  /** Opens one, or returns what is missing. */
  static async openOrSayWhyNot(): Promise<Namespace | string> {
    try {
      return await Namespace.open();
    } catch (error) {
      if (!(error instanceof NoNamespaceError)) throw error;
      return error.message;
    }
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

  /** From now on the system holds no more than this of what is sent and not read: what is longer than twice that stalls. */
  async limitBuffers(bytes: number): Promise<void> {
    for (const name of ['tcp_rmem', 'tcp_wmem']) {
      const write = `echo "4096 65536 ${bytes}" > /proc/sys/net/ipv4/${name}`;
      await run('ip', ['netns', 'exec', this.name, 'sh', '-c', write]);
    }
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
        else if ('stalling' in said) this.#stalling?.(said.stalling.ports);
        else if ('leftOver' in said) this.#left?.(said.leftOver);
        else this.#asking.get('answered' in said ? said.answered.id : said.failed.id)?.(said);
        if (left.size === 0) resolve();
      }),
    );
    for (const listen of addresses) this.#send({ listen, port: 80 });
    await ready;
  }

  script(script: Extract<Instruction, { script: unknown }>['script']): void {
    this.#send({ script });
  }

  /** The paths that an address was asked for. */
  asked(address: string): string[] {
    return this.#seen.filter((seen) => seen.address === address).map(({ path }) => path);
  }

  #send(instruction: Instruction): void {
    this.#inside?.send(instruction);
  }

  /** Starts `strongroom serve` in the namespace, as users start it, with these bounds for readers. */
  async startNode(dataFolder: string, readers: Partial<ReaderLimits> = {}): Promise<void> {
    const serve = ['serve', '--json', '--port', '0', '--no-collect', '--data', dataFolder];
    const args = [...NODE_OPTIONS, NODE, JSON.stringify(readers), ...serve];
    const child = this.#spawn(args, ['ignore', 'pipe', 'pipe']);
    if (!child.stdout || !child.stderr) throw new Error('The node has no output.');
    const log: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      process.stderr.write(`${line}\n`);
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const { url, pid, token_file } = JSON.parse(line) as { url: string; pid: number; token_file: string };
      this.#node = { child, url, pid, log, token: await readFile(token_file, 'utf8') };
      return;
    }
    throw new Error('The node did not start.');
  }

  get #running(): NodeInside {
    if (!this.#node) throw new Error('No node was started.');
    return this.#node;
  }

  /** Lets the node check its readers once. */
  checkReaders(): void {
    process.kill(this.#running.pid, 'SIGUSR2');
  }

  /** Asks the node to end, and waits until it has: its exit code. */
  async endNode(): Promise<number | null> {
    const { child } = this.#running;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill('SIGTERM');
    return (await ended)[0];
  }

  get nodePort(): number {
    return Number(new URL(this.#running.url).port);
  }

  /** From now on packets to any address come to this machine, so that they are seen and go nowhere. */
  async catchEverything(): Promise<void> {
    for (const every of ['0.0.0.0/0', '::/0'])
      await run('ip', ['-n', this.name, 'route', 'add', 'local', every, 'dev', 'lo']);
  }

  /** Captures packets on all interfaces until it is stopped, and returns a line for each. */
  capturePackets(filter: string): { started: Promise<void>; stop: () => Promise<string[]> } {
    const args = ['netns', 'exec', this.name, 'tcpdump', '-i', 'any', '-n', '-l', '--immediate-mode', filter];
    const child = spawn('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.push(child);
    if (!child.stdout || !child.stderr) throw new Error('tcpdump has no output.');
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line !== '') lines.push(line);
    });
    const { stderr } = child;
    return {
      started: new Promise((resolve, reject) => {
        createInterface({ input: stderr }).on('line', (line) => {
          if (line.includes('listening on')) resolve();
        });
        child.once('exit', () => reject(new Error('tcpdump ended.')));
      }),
      stop: async () => {
        const ended = once(child, 'exit');
        child.kill('SIGINT');
        await ended;
        return lines;
      },
    };
  }

  /** The lines that the node has logged. */
  get nodeLog(): readonly string[] {
    return this.#running.log;
  }

  /** What the node holds of the memory, in bytes. */
  async nodeMemory(): Promise<number> {
    const status = await readFile(`/proc/${this.#running.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** The ports of those who are connected with the node now. */
  async connectedPorts(): Promise<Set<number>> {
    const { url, pid } = this.#running;
    // Local and remote address, and the state, of which 1 is ESTABLISHED.
    const connections = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).matchAll(
      /^ *\d+: \w+:(\w{4}) \w+:(\w{4}) 01 /gm,
    );
    const port = Number(new URL(url).port);
    return new Set(
      [...connections].flatMap(([, local = '', remote = '']) =>
        Number.parseInt(local, 16) === port ? [Number.parseInt(remote, 16)] : [],
      ),
    );
  }

  /** Asks for each path as a visitor, on a connection of its own, and reads nothing: the ports that ask. */
  stall(paths: string[]): Promise<number[]> {
    const stalling = new Promise<number[]>((resolve) => {
      this.#stalling = resolve;
    });
    this.#send({ stall: { url: this.#running.url, paths } });
    return stalling;
  }

  /** What those who read nothing find when they read after all. */
  readStalled(): Promise<LeftOver[]> {
    const left = new Promise<LeftOver[]>((resolve) => {
      this.#left = resolve;
    });
    this.#send({ readStalled: true });
    return left;
  }

  /** Asks the node as its owner; gives back what it answered, as JSON. */
  async ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const answered = await this.answer(method, path, body);
    if (answered.status >= 400) throw new Error(`${method} ${path}: ${answered.body}`);
    return JSON.parse(answered.body) as Answer;
  }

  /** Asks the node as its owner; gives back how it answered. */
  async answer(method: string, path: string, body?: object): Promise<{ status: number; body: string }> {
    const { url, token } = this.#running;
    const id = this.#nextId++;
    const init = {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    };
    const answered = new Promise<Said>((resolve) => this.#asking.set(id, resolve));
    this.#send({ ask: { id, url: url + path, init } });
    const said = await answered;
    this.#asking.delete(id);
    if (!('answered' in said)) throw new Error(`${method} ${path} was not answered: ${JSON.stringify(said)}`);
    return said.answered;
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
