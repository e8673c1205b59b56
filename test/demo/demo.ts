import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openBrowser } from '../../electron/options.ts';
import { buildIfStale } from '../../server/launch/build.ts';
import { openNode } from '../../server/node.ts';
import { createLog } from '../../server/runtime/log.ts';
import { openScriptedWeb } from '../e2e/support/scriptedWeb.ts';
import { openOwnerApi } from './ownerApi.ts';
import { publishDemoPacks } from './packs.ts';
import { collectDemoSources, countEvents } from './sources.ts';

const HELP = `Usage: npm run demo -- [options]

Fills a new archive with packs of public data and with sources on a local web server, then serves it.

  --data DIR   a folder for the archive (default: a new temporary folder)
  --port N     the port (default: any free one)
  --peers      show three nodes that mirror, cosign, repair and catch each other, and take pictures of it
  --once       fill the archive and exit
  --no-open    do not open a browser`;

async function demo(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '0' },
      peers: { type: 'boolean', default: false },
      once: { type: 'boolean', default: false },
      'no-open': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(HELP);
  const signalled = new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end());
  });
  const dataFolder = values.data ? resolve(values.data) : await mkdtemp(join(tmpdir(), 'strongroom-demo-'));
  if (values.peers) {
    const { demonstratePeers } = await import('./peers/peersDemo.ts');
    const until = values.once ? Promise.resolve() : signalled;
    return demonstratePeers({ folder: dataFolder, until, say });
  }
  const web = await openScriptedWeb();
  // Sources are not checked on schedule, so that the events happen in the intended order.
  const options = { dataFolder, log: createLog('warn'), collect: false };
  const filling = await openNode({ ...options, port: 0 });
  const api = await openOwnerApi(filling);
  const { total } = await api.call('listPacks', { query: { limit: '1' } });
  if (total > 0)
    throw new Error(`The archive in ${dataFolder} is not empty; give a folder that is, with --data.`);
  say('Publishing packs …');
  await publishDemoPacks(api);
  say('Collecting sources …');
  await collectDemoSources(api, web);
  const found = Object.entries(await countEvents(api)).map(([type, count]) => `${count} ${type}`);
  say(`The timeline holds ${found.join(', ')}.`);
  await filling.close();
  if (values.once) {
    say(`The archive is in ${dataFolder}.`);
    return web.close();
  }
  await buildIfStale('renderer', say);
  const node = await openNode({ ...options, port: Number(values.port), collect: true });
  say(
    `It is served at ${node.url}. To sign in as the owner, open this link (it works once): ${node.createSignInLink()}`,
  );
  say('Press Ctrl-C to stop.');
  if (!values['no-open']) openBrowser(node.createSignInLink());
  await signalled;
  await node.close();
  await web.close();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await demo(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  // Open handles would keep the process running.
  process.exit(1);
}
