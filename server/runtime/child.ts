import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A script that runs in a process of its own and answers messages. */
export interface Child {
  send(message: unknown): void;
  /** Kills the process; resolves once it has ended. */
  kill(): Promise<void>;
}

/** How a process ended that nobody killed. */
export interface ChildEnd {
  outOfMemory: boolean;
  /** The signal, the exit code or the error, for the log. */
  reason: string;
}

export interface ChildOptions {
  /** The path of the script. It takes and sends messages through `server/runtime/parent.ts`. */
  script: string;
  /** How much its JavaScript may allocate. */
  heapMb: number;
  onMessage: (message: unknown) => void;
  onEnd: (end: ChildEnd) => void;
}

/** Starts a script in a process of its own. Node forks; the desktop app starts one of Electron's utility processes. */
export type StartChild = (options: ChildOptions) => Child;

export const forkChild: StartChild = ({ script, heapMb, onMessage, onEnd }) => {
  const started = fork(script, {
    // Hostile bytes are read there: no native add-on is loaded, and little of the environment is known.
    execArgv: [`--max-old-space-size=${heapMb}`, '--no-addons'],
    env: environment(),
    serialization: 'advanced',
    // What libraries say to the console of what they read is for nobody.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
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
      if (started.kill('SIGKILL')) await once(started, 'exit');
    },
  };
};

/** Windows' own libraries need to know where Windows is, and Node where it keeps what it compiled. */
function environment(): NodeJS.ProcessEnv {
  const { SystemRoot, NODE_COMPILE_CACHE } = process.env;
  return {
    ...(SystemRoot !== undefined && { SystemRoot }),
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
}

/** V8 aborts where the heap is full. */
function isOutOfMemory(code: number | null, signal: NodeJS.Signals | null): boolean {
  return signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134;
}
