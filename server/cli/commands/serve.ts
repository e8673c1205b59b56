import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isOrigin, ORIGIN_RULE } from '../../../shared/node/settings.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { DEFAULT_HOST, DEFAULT_PORT, type NodeConfig } from '../../config.ts';
import { openNode, type RunningNode } from '../../node.ts';
import { after, handleStrayErrors } from '../../runtime/background.ts';
import { createLog } from '../../runtime/log.ts';
import {
  ACCEPT_ROLLBACK_OPTION,
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';

const OPTIONS = {
  data: DATA_OPTION,
  host: {
    type: 'string',
    default: DEFAULT_HOST,
    value: 'ADDR',
    help: `the address to listen on (default: ${DEFAULT_HOST}, this machine only)`,
  },
  port: {
    type: 'string',
    default: String(DEFAULT_PORT),
    value: 'N',
    help: `the port (default: ${DEFAULT_PORT}; 0 picks a free one)`,
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    help: 'the file with the owner’s token (default: owner-token in the data folder)',
  },
  'public-url': {
    type: 'string',
    value: 'URL',
    help: 'the public address, if a proxy that terminates TLS forwards to the node, such as https://archive.example',
  },
  tls: {
    type: 'boolean',
    default: false,
    help: 'also serve HTTPS, on the next port, with the certificate in tls.pem of the data folder (created if missing)',
  },
  'no-collect': { type: 'boolean', default: false, help: 'do not check sources on schedule' },
  rebuild: {
    type: 'boolean',
    default: false,
    help: 'if the database is missing or cannot be read, first rebuild it from the newest dump, as “strongroom rebuild” does',
  },
  'accept-rollback': ACCEPT_ROLLBACK_OPTION,
  json: { ...JSON_OPTION, help: 'print where the node listens as one JSON object on the first line' },
} as const;

/** After an unexpected error, the process ends after this time even if the node could not be closed. */
const MAX_CLOSING_MS = 30_000;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

const HELP = `Usage: strongroom serve [options]

Runs the node (archive, collector and web interface) without a window.

${optionsHelp(OPTIONS)}

SIGTERM or SIGINT stops the node: it accepts no more requests, finishes running work and closes the database.`;

export const serve: Command = {
  name: 'serve',
  summary: 'run the node without a window',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: OPTIONS });
    const acceptRollback = values['accept-rollback'];
    if (values.rebuild) await rebuildIfNeeded(resolve(values.data), acceptRollback);
    const log = createLog();
    const nodeConfig: NodeConfig = {
      ...config,
      dataFolder: resolve(values.data),
      host: values.host,
      port: portOf(values.port),
      tokenFile: values['token-file'] === undefined ? undefined : resolve(values['token-file']),
      publicUrl: publicUrlOf(values['public-url']),
      tls: values.tls,
      collect: !values['no-collect'],
      acceptRollback,
      log,
    };
    // Installed before the node opens, so that a signal during opening still closes it in order. Not removed when it
    // closes, because Ctrl-C arrives twice (from the terminal and from npm) and the second signal must not interrupt that.
    const { promise: signalled, resolve: onSignal } = Promise.withResolvers<void>();
    for (const signal of SIGNALS) process.on(signal, onSignal);
    const node = await openNode(nodeConfig).catch((error: unknown) => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      throw explainListenError(error, values.host, values.port);
    });
    let exitCode: ExitCode = 0;
    const endHandling = handleStrayErrors({
      log: (details, message) => log.error(details, message),
      end: () => {
        // A supervisor starts the node again when it fails.
        exitCode = 2;
        after(MAX_CLOSING_MS, () => process.exit(exitCode)).unref();
        onSignal();
      },
    });
    announce(node, values.json);
    await signalled;
    await node.close();
    endHandling();
    return exitCode;
  },
};

/** Reports on standard error, because the first line of standard output says where the node listens. */
async function rebuildIfNeeded(folder: string, acceptRollback: boolean): Promise<void> {
  const { needsRebuild, rebuildArchive } = await import('../../dump/rebuildArchive.ts');
  if (!(await needsRebuild(folder))) return;
  const { describeRebuild } = await import('./rebuild.ts');
  const rebuilt = await rebuildArchive({ folder, clock: systemClock, acceptRollback });
  for (const line of describeRebuild(rebuilt)) printError(line);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`${JSON.stringify(text)} is not a port. Use a number from 0 to 65535.`);
  return port;
}

function publicUrlOf(text: string | undefined): string | undefined {
  if (text !== undefined && !isOrigin(text))
    throw new UsageError(`${JSON.stringify(text)} is not a public address. ${ORIGIN_RULE}`);
  return text;
}

function announce(node: RunningNode, json: boolean): void {
  if (json) {
    const { url, dataFolder: data, tokenFile: token_file, publicUrl: public_url } = node;
    const tls = node.tls && { tls_url: node.tls.url, tls_fingerprint: node.tls.fingerprint };
    printJson({ event: 'listening', url, pid: process.pid, data, token_file, public_url, ...tls });
    return;
  }
  print(`Strongroom runs at ${node.url} with the data folder ${node.dataFolder}.`);
  const link = node.createSignInLink();
  print(`To sign in as the owner, open this link (it works once): ${link}`);
  if (node.tls) print(`Over HTTPS: ${node.tls.url} (certificate SHA-256 ${node.tls.fingerprint}).`);
  if (node.publicUrl) print(`The same link through the proxy: ${node.publicUrl}${new URL(link).pathname}`);
  print(`For scripts, the owner’s token is in ${node.tokenFile}. Press Ctrl-C to stop.`);
}

function explainListenError(error: unknown, host: string, port: string): unknown {
  const code = errorCode(error);
  if (code === 'EADDRINUSE')
    return new Error(`Port ${port} is in use. Choose another with --port, or 0 for any free port.`);
  if (code === 'EADDRNOTAVAIL')
    return new Error(
      `This machine does not have the address ${host}. Choose one of its addresses with --host.`,
    );
  if (code === 'EACCES')
    return new Error(`This account may not listen on port ${port}. Choose a port above 1023 with --port.`);
  return error;
}
