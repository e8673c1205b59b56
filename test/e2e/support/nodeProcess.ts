import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const root = resolve(import.meta.dirname, '../../..');

/** A headless node that runs as a process of its own, as a user would start it. */
export interface NodeProcess {
  url: string;
  /** Signs one browser in as the owner, once. */
  signInLink: string;
  token: string;
  dataFolder: string;
  /** Sends SIGTERM and answers with the exit code. */
  stop(): Promise<number | null>;
}

export interface NodeProcessOptions {
  /** A fresh temporary folder, removed at the end, unless it is given. */
  dataFolder?: string;
  /** Further options of `strongroom serve`. */
  args?: string[];
}

/** Starts `strongroom serve` on a free port and waits for the link it prints. Sources are checked only when asked. */
export async function startNode({
  dataFolder,
  args = ['--no-collect'],
}: NodeProcessOptions = {}): Promise<NodeProcess> {
  const temporary = dataFolder === undefined ? await mkdtemp(join(tmpdir(), 'strongroom-e2e-')) : undefined;
  const folder = dataFolder ?? join(temporary ?? '', 'data');
  const child = spawn(
    process.execPath,
    [join(root, 'server/cli.ts'), 'serve', '--port', '0', '--data', folder, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const endedEarly = ended.then(([code]): never => {
    throw new Error(`The node ended with ${code} before it listened:\n${complaints}`);
  });
  const signInLink = await Promise.race([printedLink(child.stdout), endedEarly]);
  return {
    url: new URL(signInLink).origin,
    signInLink,
    token: await readFile(join(folder, 'owner-token'), 'utf8'),
    dataFolder: folder,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await ended;
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
      return code;
    },
  };
}

/** Reads on after the link came, so that the pipe never fills. */
function printedLink(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((found) => {
    createInterface({ input: output }).on('line', (line) => {
      const link = /http:\/\/\S+\/sign-in\/\w+/.exec(line)?.[0];
      if (link !== undefined) found(link);
    });
  });
}
