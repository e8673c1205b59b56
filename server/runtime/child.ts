import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { isatty } from 'node:tty';
import { every, keepProcessAlive } from './background.ts';

/** A child process that runs a script and exchanges messages. */
export interface Child {
  send(message: unknown): void;
  /** Kills the process; resolves once it has ended. */
  kill(): Promise<void>;
}

/** Why a child process ended by itself. */
export interface ChildEnd {
  outOfMemory: boolean;
  /** The signal, the exit code or the error, for the log. */
  reason: string;
}

export interface ChildOptions {
  /** The path of the script. It exchanges messages through `server/runtime/child.ts`. */
  script: string;
  /** The limit of its JavaScript heap. */
  heapMb: number;
  onMessage: (message: unknown) => void;
  onEnd: (end: ChildEnd) => void;
}

/** Starts a script in a child process: a fork under Node, a utility process in the desktop app. */
export type StartChild = (options: ChildOptions) => Child;

export const forkChild: StartChild = ({ script, heapMb, onMessage, onEnd }) => {
  const started = fork(script, {
    // The child reads hostile bytes, so it gets no native add-ons and almost no environment.
    execArgv: [`--max-old-space-size=${heapMb}`, '--no-addons'],
    env: environment(),
    serialization: 'advanced',
    // Console output of libraries about the bytes they read is dropped.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  lowerPriority(started.pid);
  started.on('message', onMessage);
  started.on('error', (error) => onEnd({ outOfMemory: false, reason: error.message }));
  started.on('exit', (code, signal) =>
    onEnd({ outOfMemory: isOutOfMemory(code, signal), reason: String(signal ?? code) }),
  );
  started.unref();
  started.channel?.unref();
  return {
    send: (message) => void started.send(message as object),
    kill: async () => {
      if (!started.kill('SIGKILL')) return;
      // Whoever waits for the end must not be ended before it.
      started.ref();
      await once(started, 'exit');
    },
  };
};

/** A third of the usual share. With less, tasks would run into their time limits on a machine that does much else. */
const STEPS_LOWER = 5;

/**
 * Lowers the priority of a process, so that what it does with hostile bytes does not take the processor from this node's
 * requests. Its threads inherit it, so it is called before the process has any.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, Math.min(getPriority() + STEPS_LOWER, constants.priority.PRIORITY_LOW));
  } catch (error) {
    // Some sandboxes forbid it. The process works all the same.
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

/** Windows libraries need `SystemRoot`; Node finds its compile cache by `NODE_COMPILE_CACHE`. */
function environment(): NodeJS.ProcessEnv {
  const { SystemRoot, NODE_COMPILE_CACHE } = process.env;
  return {
    ...(SystemRoot !== undefined && { SystemRoot }),
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
}

/** V8 aborts the process when the heap is full. */
function isOutOfMemory(code: number | null, signal: NodeJS.Signals | null): boolean {
  return signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134;
}

/** Electron's message port in a utility process. Under Node, `process` itself has the channel. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/** The connection from a child process (`child.ts`) to its parent. */
export interface Parent<Request, Reply> {
  listen(receive: (request: Request) => void): void;
  reply(message: Reply): void;
}

/** Connects to the parent process. This process ends when the parent does. */
export function connectToParent<Request, Reply>(): Parent<Request, Reply> {
  const { parentPort } = process as { parentPort?: ParentPort };
  if (parentPort === undefined) {
    process.on('disconnect', () => process.exit());
    return {
      listen: (receive) => void process.on('message', receive),
      reply: (message) => void process.send?.(message),
    };
  }
  // The port does not keep the event loop of a utility process alive (electron#42978); a timer does.
  keepProcessAlive();
  return {
    listen: (receive) => parentPort.on('message', ({ data }) => receive(data as Request)),
    reply: (message) => parentPort.postMessage(message),
  };
}

const POLL_INTERVAL_MS = 250;

/**
 * Sends SIGTERM to this process when its terminal is closed or when the npm process that started it has ended. Some
 * shells stay between npm and a script and do not pass signals on.
 */
export function exitWithParent(): void {
  // `nohup` detaches the input from the terminal; the process must keep running then.
  if (isatty(0)) process.once('SIGHUP', endInOrder);
  if (process.env.npm_lifecycle_event === undefined) return;
  const { ppid } = process;
  const parentOfShell = parentOf(ppid);
  const timer = every(POLL_INTERVAL_MS, () => {
    if (process.ppid === ppid && parentOf(ppid) === parentOfShell) return;
    clearInterval(timer);
    endInOrder();
  });
  timer.unref();
}

/** Returns the parent of a process on Linux, whose shells stay; undefined elsewhere and after the process has ended. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function endInOrder(): void {
  process.kill(process.pid, 'SIGTERM');
}
