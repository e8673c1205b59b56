import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { app } from './app.ts';

/** Gives a Node process the `process.parentPort` of a utility process, instead of `process.send`. */
const PARENT_PORT = `data:text/javascript,${encodeURIComponent(`
  const { send } = process;
  process.parentPort = {
    on: (event, listen) => process.on(event, (data) => listen({ data })),
    postMessage: (message) => send.call(process, message),
  };
  delete process.send;
  process.on('disconnect', () => process.exit());`)}`;

interface ForkOptions {
  execArgv?: string[];
  env?: Record<string, string>;
  stdio?: string;
  serviceName?: string;
}

/** A Node process with the events and the channel of Electron's utility process. Reads V8 flags from `--js-flags`. */
class UtilityProcess extends EventEmitter {
  #child: ChildProcess;

  constructor(script: string, args: string[], { execArgv = [], env, serviceName }: ForkOptions) {
    super();
    if (!app.isReady()) throw new TypeError('utilityProcess cannot be created before app is ready.');
    const flags = execArgv.flatMap((flag) => /^--js-flags=(.*)$/.exec(flag)?.[1]?.split(' ') ?? []);
    this.#child = fork(script, args, {
      execArgv: [...flags, '--import', PARENT_PORT],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const metric = { type: 'Utility', name: serviceName ?? 'Node Utility Process' };
    this.#child.on('spawn', () => {
      app.processes.add(metric);
      this.emit('spawn');
    });
    this.#child.on('message', (message) => this.emit('message', message));
    this.#child.on('exit', (code, signal) => {
      app.processes.delete(metric);
      this.emit('exit', code ?? statusOf(signal));
    });
  }

  get pid(): number | undefined {
    return this.#child.exitCode === null && this.#child.signalCode === null ? this.#child.pid : undefined;
  }

  postMessage = (message: object): void => void this.#child.send(message);
  kill = (): boolean => this.#child.kill('SIGKILL');
}

/** The wait status with which Chromium reports a signal. */
function statusOf(signal: NodeJS.Signals | null): number {
  return { SIGTRAP: 5, SIGABRT: 6, SIGSEGV: 11 }[String(signal)] ?? 9;
}

export const utilityProcess = {
  fork: (script: string, args: string[] = [], options: ForkOptions = {}): UtilityProcess =>
    new UtilityProcess(script, args, options),
};
