import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BUILT_SERVER } from '../../server/launch/build.ts';

const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: { strongroom: string };
};
/** Node's options from the script `strongroom`, so that tests and benchmarks start nodes as users do. */
export const NODE_OPTIONS = scripts.strongroom.split(' ').filter((word) => word.startsWith('--'));

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `strongroom` with these arguments in its own process, started by another program if one is given, until it exits. */
export async function runCommand(
  args: string[],
  cwd?: string,
  more: NodeJS.ProcessEnv = {},
  starter: readonly string[] = [],
): Promise<CommandResult> {
  const env = { ...process.env, ...more };
  const [program, ...words] = [...starter, process.execPath, CLI, ...args] as [string, ...string[]];
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

export interface ServedNode {
  child: ChildProcess;
  url: string;
  pid: number;
  data: string;
  token_file: string;
}

/** Starts `strongroom serve --json` on a free port and waits until it listens. */
export function serveNode(dataFolder: string, ...more: string[]): Promise<ServedNode> {
  return serveNodeWith({}, dataFolder, ...more);
}

/** Starts the node that `npm run strongroom` starts, which must be built. */
export function serveBuiltNode(dataFolder: string, ...more: string[]): Promise<ServedNode> {
  return serveNodeWith({ program: BUILT_SERVER }, dataFolder, ...more);
}

export interface ServeOptions {
  /** The file that Node runs (default: the sources). */
  program?: string;
  nodeOptions?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Whether messages can be exchanged with what the options of Node load. */
  withMessages?: boolean;
}

/** Like `serveNode`, with more options of Node and more variables of the environment. */
export async function serveNodeWith(
  { program = CLI, nodeOptions = [], env = {}, withMessages = false }: ServeOptions,
  dataFolder: string,
  ...more: string[]
): Promise<ServedNode> {
  const serve = ['serve', '--json', '--port', '0', '--no-collect', '--data', dataFolder, ...more];
  const args = [...NODE_OPTIONS, ...nodeOptions, program, ...serve];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(withMessages ? (['ipc'] as const) : [])],
  });
  if (!child.stdout || !child.stderr) throw new Error('The node has no output.');
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, ...endpoint } = JSON.parse(line) as { event: string } & Omit<ServedNode, 'child'>;
    if (event !== 'listening') throw new Error(`The first line is ${line}`);
    return { child, ...endpoint };
  }
  throw new Error(`The node did not start: ${stderr}`);
}

/** Sends a signal and returns the exit code. */
export async function end({ child }: ServedNode, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit') as Promise<[number | null]>;
  child.kill(signal);
  return (await ended)[0];
}
