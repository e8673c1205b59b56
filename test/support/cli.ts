import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: { strongroom: string };
};
/** What the script `strongroom` starts Node with: nodes that are tested and measured run as users run them. */
export const NODE_OPTIONS = scripts.strongroom.split(' ').filter((word) => word.startsWith('--'));

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `strongroom` with these words in a process of its own, to its end. */
export async function runCommand(
  args: string[],
  cwd?: string,
  more: NodeJS.ProcessEnv = {},
): Promise<CommandResult> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, [CLI, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
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
export async function serveNode(dataFolder: string, ...more: string[]): Promise<ServedNode> {
  const serve = ['serve', '--json', '--port', '0', '--no-collect', '--data', dataFolder, ...more];
  const args = [...NODE_OPTIONS, CLI, ...serve];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, ...told } = JSON.parse(line) as { event: string } & Omit<ServedNode, 'child'>;
    if (event !== 'listening') throw new Error(`The first line was: ${line}`);
    return { child, ...told };
  }
  throw new Error(`The node did not start: ${stderr}`);
}

/** Sends a signal and answers with the exit code. */
export async function end({ child }: ServedNode, signal: NodeJS.Signals): Promise<number | null> {
  const ended = once(child, 'exit') as Promise<[number | null]>;
  child.kill(signal);
  return (await ended)[0];
}
