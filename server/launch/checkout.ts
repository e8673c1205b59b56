import { pathToFileURL } from 'node:url';
import { buildIfStale, serverEntry } from './build.ts';
import { exitWithParent } from './exitWithParent.ts';

const REQUIRED_NODE = 24;

/** Builds the web interface and the server. If that fails, the node serves no pages, or runs from its sources. */
async function buildAll(): Promise<void> {
  await Promise.all([
    buildIfStale('renderer', printError).catch((error: unknown) =>
      printError(`The interface is not served, because it could not be built. ${messageOf(error)}`),
    ),
    buildIfStale('server', printError).catch((error: unknown) =>
      printError(`The server runs from its sources, because it could not be built. ${messageOf(error)}`),
    ),
  ]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

// `npm run strongroom`: the command line of a checkout. An installed app is already built and is not started by npm.
const [command, ...args] = process.argv.slice(2);
exitWithParent();
if (command === 'serve' && !args.includes('--help') && isNewEnough()) await buildAll();
await import(pathToFileURL(serverEntry()).href);

function isNewEnough(): boolean {
  return Number(process.versions.node.split('.')[0]) >= REQUIRED_NODE;
}
