import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { createLog } from '../log.ts';
import { openNode, type RunningNode } from '../node.ts';
import { type Command, DATA_OPTION, type ExitCode, JSON_OPTION, print, UsageError } from './command.ts';

const HELP = `Usage: strongroom serve [options]

Runs the node: the archive, the collector and the interface, without a window.

  --data DIR        the data folder (default: ./strongroom-data)
  --host ADDR       the address to listen on (default: ${DEFAULT_HOST}, this machine only)
  --port N          the port (default: ${DEFAULT_PORT}; 0 picks a free one)
  --token-file F    where the owner's token is kept (default: owner-token in the data folder)
  --no-collect      do not check sources on schedule
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
        'no-collect': { type: 'boolean', default: false },
        json: JSON_OPTION,
      },
    });
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
      collect: !values['no-collect'],
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

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`${JSON.stringify(text)} is no port: 0 to 65535.`);
  return port;
}

function announce(node: RunningNode, json: boolean): void {
  if (json) {
    const { url, dataFolder: data, tokenFile: token_file } = node;
    print(JSON.stringify({ event: 'listening', url, pid: process.pid, data, token_file }));
    return;
  }
  print(`Strongroom runs at ${node.url} with the data folder ${node.dataFolder}.`);
  print(`Sign in as the owner, once, with this link: ${node.createSignInLink()}`);
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
