import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const root = resolve(import.meta.dirname, '../../..');

/** A headless node, in another process than the test. */
export interface NodeProcess {
  url: string;
  /** A link that signs one browser in as the owner, once. */
  signInLink: string;
  token: string;
  dataFolder: string;
  /** Closes the node, and removes its folder if that was temporary. */
  stop(): Promise<void>;
}

export interface NodeProcessOptions {
  /** Default: a new temporary folder that is removed at the end. */
  dataFolder?: string;
  /** Further options of `strongroom serve`. */
  args?: string[];
  /** Further variables of its environment. */
  env?: Record<string, string>;
}

/** Starts `strongroom serve` on a free port and waits for the sign-in link. Sources are not checked on schedule. */
export async function startNode({
  dataFolder,
  args = ['--no-collect'],
  env = {},
}: NodeProcessOptions = {}): Promise<NodeProcess> {
  const temporary = dataFolder === undefined ? await mkdtemp(join(tmpdir(), 'strongroom-e2e-')) : undefined;
  const folder = dataFolder ?? join(temporary ?? '', 'data');
  const child = spawn(
    process.execPath,
    [join(root, 'server/cli.ts'), 'serve', '--port', '0', '--data', folder, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
  );
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const endedEarly = ended.then(([code]): never => {
    throw new Error(`The node exited with ${code} before it listened:\n${errors}`);
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
      if (code !== 0) throw new Error(`The node exited with ${code}:\n${errors}`);
    },
  };
}

/** Resolves with the link. Keeps reading after that, so that the pipe never fills. */
function printedLink(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((found) => {
    createInterface({ input: output }).on('line', (line) => {
      const link = /http:\/\/\S+\/sign-in\/\w+/.exec(line)?.[0];
      if (link !== undefined) found(link);
    });
  });
}
