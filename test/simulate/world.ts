import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { main } from '../../server/cli/main.ts';
import type { NodeConfig } from '../../server/config.ts';
import { openNode, type RunningNode } from '../../server/node.ts';
import { WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { FaultPlan } from '../support/copies/flakyTarget.ts';
import { keptChild } from '../support/keptChildren.ts';
import type { StoreAddress } from '../support/network/objectStore.ts';
import { ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { createDataFolder } from '../support/store.ts';
import { type Answer, Client, type Figures, NodeLost, textOf, Violation } from './client.ts';
import { SimulatedClock } from './clock.ts';
import { Dice } from './dice.ts';
import { breakDisk, type Fault, mendDisk } from './disk.ts';
import { Model } from './model.ts';
import type { Content } from './steps/step.ts';

/** The bucket in which copies are. */
export const BUCKET = 'simulated';
/** Drafts with more bytes are published as sets, in parts of this size. */
export const PACK_BYTES = 10_000;
/** A process that is killed has its own clock; time goes on by this much until the next start. */
const PROCESS_MS = 600_000;
const HOOK = new URL('./disk.ts', import.meta.url).href;
const CHILD = fileURLToPath(new URL('./killedNode.ts', import.meta.url));
const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
/** A node under test that logs this has met something that it did not expect. */
const TELLING = /unexpected|internal/i;

let authority: Promise<TimestampAuthority> | undefined;

export interface WorldOptions {
  rendererFolder: string;
  store: StoreAddress | undefined;
  /** Whether pages are drawn. */
  hasBrowser: boolean;
}

export interface CommandResult {
  code: number | null;
  output: string;
}

/** The nodes of one simulation, what surrounds them, and the model of what they acknowledged. */
export class World {
  readonly root: string;
  readonly figures: Figures;
  /** Begins now: commands that a person types, and authorities, have the clock of the machine. */
  readonly clock = new SimulatedClock(Date.now());
  readonly model = new Model();
  readonly web: ScriptedWeb;
  /** The data folder in which the archive is now. */
  data: string;
  node!: Client;
  peer: Client | undefined;
  peerData: string;
  /** An object store, if this machine has one, and the bucket in it. */
  readonly store: StoreAddress | undefined;
  readonly bucket = BUCKET;
  /** What the web has served at each path, or address of others. */
  readonly served = new Map<string, Content[]>();
  /** Whether the data folder has the key that decrypts what was withheld and sealed. */
  hasOwnerKey = true;
  /** Whether the archive has the key with which it began, which the peer cosigns. */
  isFirstLog = true;
  /** Whether pages are drawn, which takes seconds each. */
  readonly hasBrowser: boolean;
  /** What goes wrong in the places of copies. */
  readonly copiesPlan = new FaultPlan();
  /** What a step that was interrupted must find out about what it asked for. */
  attempt: (() => Promise<unknown>) | undefined;
  /** What the nodes logged as a warning or an error. */
  readonly messages: string[] = [];
  /** The count of folders, so that each has a name of its own. */
  #folders = 0;
  #opened = 0;
  #running: RunningNode | undefined;
  #runningPeer: RunningNode | undefined;
  #webhook: WebhookReceiver | undefined;
  readonly #ids: Dice;
  /** The built parts of the interface that evidence files contain. */
  readonly #rendererFolder: string;

  private constructor(
    root: string,
    seed: number,
    figures: Figures,
    web: ScriptedWeb,
    { rendererFolder, store, hasBrowser }: WorldOptions,
  ) {
    this.#rendererFolder = rendererFolder;
    this.store = store;
    this.hasBrowser = hasBrowser;
    this.root = root;
    this.figures = figures;
    this.web = web;
    this.data = join(root, 'data');
    this.peerData = join(root, 'peer');
    this.#ids = new Dice(seed);
  }

  static async open(seed: number, figures: Figures, options: WorldOptions): Promise<World> {
    const root = await mkdtemp(join(tmpdir(), 'strongroom-simulated-'));
    const world = new World(root, seed, figures, await ScriptedWeb.open(), options);
    await world.start();
    await world.settle();
    return world;
  }

  /** A folder or a file of this run that does not exist yet. */
  readonly place = (name: string): string => {
    this.#folders += 1;
    return join(this.root, `${name}-${this.#folders}`);
  };

  #config(dataFolder: string): NodeConfig {
    const ids = new Dice(this.#ids.seed() + this.#opened);
    this.#opened += 1;
    const log = (details: object, message: string) =>
      void this.messages.push(`${message} ${inspect(details)}`);
    return {
      dataFolder,
      port: 0,
      collect: false,
      audit: false,
      copy: false,
      prove: false,
      follow: false,
      derive: true,
      idleMs: 0,
      quickMs: 10_000,
      packBytes: PACK_BYTES,
      clock: this.clock,
      random: (count) => ids.bytes(count),
      log: { info: () => {}, warn: log, error: log },
      networkPause: async () => null,
      batteryLow: async () => false,
      discovery: { addresses: [] },
      aroundCopies: this.copiesPlan.around,
      startChild: keptChild,
      rendererFolder: this.#rendererFolder,
    };
  }

  /** Opens the archive in this process. */
  async start(): Promise<void> {
    await createDataFolder(this.data);
    this.#running = await openNode(this.#config(this.data));
    this.node = new Client(this.#running.url, await readFile(this.#running.tokenFile, 'utf8'), this.figures);
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The archive goes on in this folder, which has only what an export has. */
  async adopt(folder: string): Promise<void> {
    await this.stop();
    this.data = folder;
    this.model.leaveLocal();
    this.hasOwnerKey = false;
    this.isFirstLog = false;
    await this.start();
    await this.settle();
  }

  /** What a new archive needs: no pauses, and no limit that a long run meets. */
  async settle(node = this.node): Promise<void> {
    const settings = {
      per_host_pause_ms: 0,
      retry_delays_seconds: [],
      gone_after_minutes: 0,
      min_free_disk_gb: 0,
      ip_writes_per_hour: 1_000_000,
      ip_writes_per_day: 1_000_000,
      site_writes_per_hour: 1_000_000,
    };
    this.require(await node.asOwner('PATCH', '/manage/settings', { json: settings }), 200);
    const sharing = { mode: 'read', require_invitation: false };
    this.require(await node.asOwner('PUT', '/manage/sharing', { json: sharing }), 200);
  }

  /** Requires a status of a response. */
  readonly require = (answer: Answer, ...statuses: number[]): void => {
    this.figures.assertions += 1;
    if (!statuses.includes(answer.status))
      throw new Violation(`Expected ${statuses.join(' or ')}, not ${answer.status}: ${textOf(answer)}`);
  };

  /** Requires something of the archive. */
  readonly check = (holds: boolean, sentence: string | (() => string)): void => {
    this.figures.assertions += 1;
    if (!holds) throw new Violation(typeof sentence === 'string' ? sentence : sentence());
  };

  /** The other node, opened when it is first needed. */
  async withPeer(): Promise<Client> {
    if (this.peer) return this.peer;
    const isNew = !existsSync(this.peerData);
    await createDataFolder(this.peerData);
    this.#runningPeer = await openNode({ ...this.#config(this.peerData), derive: false });
    const token = await readFile(this.#runningPeer.tokenFile, 'utf8');
    this.peer = new Client(this.#runningPeer.url, token, this.figures);
    if (isNew) await this.settle(this.peer);
    return this.peer;
  }

  /** The other node is away, as without a network, until it is asked for again. */
  async losePeer(): Promise<void> {
    const running = this.#runningPeer;
    this.#runningPeer = undefined;
    this.peer = undefined;
    await running?.close();
  }

  /** Opens the archive in another folder for a look, and closes it again. */
  async look<Result>(
    folder: string,
    use: (node: Client) => Promise<Result>,
    config: Partial<NodeConfig> = {},
  ): Promise<Result> {
    const running = await openNode({ ...this.#config(folder), ...config });
    try {
      return await use(new Client(running.url, await readFile(running.tokenFile, 'utf8'), this.figures));
    } finally {
      await running.close();
    }
  }

  /** Runs a command of `strongroom` in this process. */
  async command(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
    let output = '';
    const streams = [process.stdout, process.stderr];
    const kept = streams.map((stream) => Object.getOwnPropertyDescriptor(stream, 'write'));
    const earlier = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
    Object.assign(process.env, env);
    for (const stream of streams)
      stream.write = (text: string | Uint8Array) => {
        output += String(text);
        return true;
      };
    try {
      const code = await main([...words], { clock: this.clock, rendererFolder: this.#rendererFolder });
      return { code, output };
    } finally {
      for (const [index, stream] of streams.entries()) {
        Reflect.deleteProperty(stream, 'write');
        const before = kept[index];
        if (before) Object.defineProperty(stream, 'write', before);
      }
      for (const [name, value] of Object.entries(earlier))
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
  }

  /** Runs a command in a process that is killed at the n-th call that makes something durable below a folder. Returns its exit code, or null. */
  async killedCommand(
    words: readonly string[],
    folder: string,
    at: number,
    more: NodeJS.ProcessEnv = {},
  ): Promise<number | null> {
    const env = { ...(await this.#order({ folder, at, does: 'kill', times: 1 })), ...more };
    const child = spawn(process.execPath, [`--import=${HOOK}`, CLI, ...words], { env, stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code === null) this.figures.kills += 1;
    return code;
  }

  async #order(fault: Fault): Promise<NodeJS.ProcessEnv> {
    const control = this.place('fault');
    await mkdir(control);
    await writeFile(join(control, 'fault.json'), JSON.stringify(fault));
    return { ...process.env, STRONGROOM_SIMULATED_FAULT: control };
  }

  /** Does something with the archive in a process of its own, which is killed at its n-th durable call, or at the end. */
  async killed(at: number, use: () => Promise<unknown>): Promise<string> {
    await this.stop();
    const control = this.place('fault');
    await mkdir(control);
    const config = {
      dataFolder: this.data,
      packBytes: PACK_BYTES,
      now: this.clock.now(),
      seed: this.#ids.seed(),
    };
    const env = {
      ...process.env,
      STRONGROOM_SIMULATED_FAULT: control,
      STRONGROOM_SIMULATED_NODE: JSON.stringify(config),
    };
    const child = spawn(process.execPath, [`--import=${HOOK}`, CHILD], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const exited = once(child, 'exit');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await lines.next();
    if (first.done) throw new Violation(`The node did not start: ${stderr}`);
    const { url, tokenFile } = JSON.parse(first.value) as { url: string; tokenFile: string };
    await writeFile(
      join(control, 'fault.json'),
      JSON.stringify({ folder: this.data, at, does: 'kill', times: 1 }),
    );
    this.node = new Client(url, await readFile(tokenFile, 'utf8'), this.figures);
    this.node.mayBeLost = true;
    let said = 'killed after it';
    try {
      await use();
    } catch (error) {
      if (!(error instanceof NodeLost)) throw error;
      said = `killed within ${error.message}`;
    } finally {
      child.kill('SIGKILL');
      await exited;
      this.clock.move(PROCESS_MS);
    }
    this.figures.kills += 1;
    await this.start();
    return said;
  }

  /** Does something while the disk fails from its n-th durable call on, and starts the node again. */
  async onFailingDisk(fault: Omit<Fault, 'folder'>, use: () => Promise<unknown>): Promise<string> {
    const failures = [500, 502, 503, 507];
    this.node.mayFail = failures;
    breakDisk({ ...fault, folder: this.data });
    let said = 'done in spite of it';
    try {
      await use();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      said = error.message.slice(0, 120);
    } finally {
      const calls = mendDisk();
      if (calls >= fault.at) this.figures.diskFaults += 1;
    }
    await this.restart();
    return said;
  }

  /** Where the node serves HTTPS. */
  tls(): { url: string } | undefined {
    return this.#running?.tls;
  }

  /** A timestamp authority, made when it is first needed and shared by all runs: its keys take a while. */
  authority(): Promise<TimestampAuthority> {
    authority ??= TimestampAuthority.open();
    return authority;
  }

  /** The target of an alert: a webhook that keeps what it gets. */
  async webhook(): Promise<WebhookReceiver['target']> {
    this.#webhook ??= await this.#openWebhook();
    return this.#webhook.target;
  }

  async #openWebhook(): Promise<WebhookReceiver> {
    const { messages } = this.model;
    const receiver = await WebhookReceiver.open((response) => {
      messages.push({ body: receiver.calls.at(-1)?.body ?? '', moment: this.model.moment });
      response.writeHead(204).end();
    });
    return receiver;
  }

  beginAttempt(): void {
    this.attempt = undefined;
  }

  /** Finds out what a step that was interrupted has brought about. */
  async settleAttempt(): Promise<void> {
    await this.attempt?.();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#runningPeer?.close();
    await this.web.close();
    this.#webhook?.close();
    await rm(this.root, { recursive: true, force: true });
  }

  unexpected(): string[] {
    return this.messages.filter((message) => TELLING.test(message));
  }
}

function inspect(details: object): string {
  return Object.entries(details)
    .map(
      ([name, value]) =>
        `${name}=${value instanceof Error ? (value.stack ?? value.message) : JSON.stringify(value)}`,
    )
    .join(' ');
}
