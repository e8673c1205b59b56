import { pathToFileURL } from 'node:url';
import { BUILT_SERVER, buildIfStale, isServerBuilt, SERVER_SOURCE } from './build.ts';
import { exitWithParent } from './exitWithParent.ts';

const REQUIRED_NODE = 24;

/**
 * Builds the web interface and the server; returns the file to run. If a build fails, the node serves no pages, or runs
 * from its sources.
 */
async function buildAll(): Promise<string> {
  const [, entry] = await Promise.all([
    buildIfStale('renderer', printError).catch((error: unknown) =>
      printError(`The interface is not served, because it could not be built. ${messageOf(error)}`),
    ),
    buildIfStale('server', printError).then(
      () => BUILT_SERVER,
      (error: unknown) => {
        printError(`The server runs from its sources, because it could not be built. ${messageOf(error)}`);
        return SERVER_SOURCE;
      },
    ),
  ]);
  return entry;
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
const serves = command === 'serve' && !args.includes('--help') && isNewEnough();
const entry = serves ? await buildAll() : isServerBuilt() ? BUILT_SERVER : SERVER_SOURCE;
await import(pathToFileURL(entry).href);

function isNewEnough(): boolean {
  return Number(process.versions.node.split('.')[0]) >= REQUIRED_NODE;
}
