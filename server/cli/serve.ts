import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import { isOrigin, ORIGIN_RULE } from '../../shared/settings.ts';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { openNode, type RunningNode } from '../node.ts';
import { createLog } from '../runtime/log.ts';
import {
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
  UsageError,
} from './command.ts';

const HELP = `Usage: strongroom serve [options]

Runs the node: the archive, the collector and the interface, without a window.

  --data DIR        the data folder (default: ./strongroom-data)
  --host ADDR       the address to listen on (default: ${DEFAULT_HOST}, this machine only)
  --port N          the port (default: ${DEFAULT_PORT}; 0 picks a free one)
  --token-file F    where the owner's token is kept (default: owner-token in the data folder)
  --public-url URL  where the world reaches it through a proxy that ends TLS, as in https://archive.example
  --no-collect      do not check sources on schedule
  --rebuild         where the database is missing or cannot be read, makes it of the newest dump first, as
                    “strongroom rebuild” does
  --accept-rollback goes on with a database that is behind what was acknowledged or signed, with a new key and an entry
                    that says so
  --json            the first line on standard output is one JSON object that says where it listens

SIGTERM or SIGINT ends it: it takes no more requests, finishes what runs and closes the database.`;

export const serve: Command = {
  name: 'serve',
  summary: 'run the node without a window',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        data: DATA_OPTION,
        host: { type: 'string', default: DEFAULT_HOST },
        port: { type: 'string', default: String(DEFAULT_PORT) },
        'token-file': { type: 'string' },
        'public-url': { type: 'string' },
        'no-collect': { type: 'boolean', default: false },
        rebuild: { type: 'boolean', default: false },
        'accept-rollback': { type: 'boolean', default: false },
        json: JSON_OPTION,
      },
    });
    const acceptRollback = values['accept-rollback'];
    if (values.rebuild) await rebuildIfNeeded(resolve(values.data), acceptRollback);
    // Heard from the first moment on: a signal while the node opens must not leave it half open.
    // And for good: Ctrl-C comes from the terminal and again from npm, and must not cut the closing short.
    const signalled = new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
    });
    const node = await openNode({
      ...config,
      dataFolder: resolve(values.data),
      host: values.host,
      port: portOf(values.port),
      tokenFile: values['token-file'] === undefined ? undefined : resolve(values['token-file']),
      publicUrl: publicUrlOf(values['public-url']),
      collect: !values['no-collect'],
      acceptRollback,
      log: createLog(),
    }).catch((error: unknown) => {
      throw explainListening(error, values.host, values.port);
    });
    announce(node, values.json);
    await signalled;
    await node.close();
    return 0;
  },
};

/** Tells on standard error: the first line on standard output says where the node listens. */
async function rebuildIfNeeded(folder: string, acceptRollback: boolean): Promise<void> {
  const { needsRebuild, rebuildArchive } = await import('../dump/rebuildArchive.ts');
  if (!(await needsRebuild(folder))) return;
  const { describeRebuild } = await import('./rebuild.ts');
  const rebuilt = await rebuildArchive({ folder, clock: systemClock, acceptRollback });
  for (const line of describeRebuild(rebuilt)) printError(line);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`${JSON.stringify(text)} is no port: 0 to 65535.`);
  return port;
}

function publicUrlOf(text: string | undefined): string | undefined {
  if (text !== undefined && !isOrigin(text))
    throw new UsageError(`${JSON.stringify(text)} is no public address. ${ORIGIN_RULE}`);
  return text;
}

function announce(node: RunningNode, json: boolean): void {
  if (json) {
    const { url, dataFolder: data, tokenFile: token_file, publicUrl: public_url } = node;
    print(JSON.stringify({ event: 'listening', url, pid: process.pid, data, token_file, public_url }));
    return;
  }
  print(`Strongroom runs at ${node.url} with the data folder ${node.dataFolder}.`);
  const link = node.createSignInLink();
  print(`Sign in as the owner, once, with this link: ${link}`);
  if (node.publicUrl) print(`or, through the proxy, with this: ${node.publicUrl}${new URL(link).pathname}`);
  print(`For scripts, the owner's token is in ${node.tokenFile}. End it with Ctrl-C.`);
}

function explainListening(error: unknown, host: string, port: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new Error(`Port ${port} is in use. Give another with --port, or 0 for any free one.`);
  if (code === 'EADDRNOTAVAIL')
    return new Error(`This machine has no address ${host}. Give one of its own with --host.`);
  if (code === 'EACCES')
    return new Error(`This account may not listen on port ${port}. Give one above 1023 with --port.`);
  return error;
}
