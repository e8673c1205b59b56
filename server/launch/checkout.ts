import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exitWithParent } from '../runtime/child.ts';
import { BUILT_SERVER, buildIfStale, ROOT } from './build.ts';

const REQUIRED_NODE = 24;

/** Builds the interface. If that fails, the node serves no pages. */
async function buildInterface(): Promise<void> {
  try {
    await buildIfStale('renderer', printError);
  } catch (error) {
    printError(`The interface is not served, because it could not be built. ${messageOf(error)}`);
  }
}

/** Builds the server; returns the file to run: the sources if the build fails. */
async function buildServer(): Promise<string> {
  try {
    await buildIfStale('server', printError);
    return BUILT_SERVER;
  } catch (error) {
    printError(`The server runs from its sources, because it could not be built. ${messageOf(error)}`);
    return SERVER_SOURCE;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

// `npm run strongroom`: the command line of a checkout. An installed app is already built and is not started by npm.
const SERVER_SOURCE = join(ROOT, 'server/cli.ts');
const [command, ...args] = process.argv.slice(2);
const isNewEnough = Number(process.versions.node.split('.')[0]) >= REQUIRED_NODE;
exitWithParent();
const [entry] = isNewEnough
  ? await Promise.all([
      buildServer(),
      command === 'serve' && !args.includes('--help') ? buildInterface() : undefined,
    ])
  : [SERVER_SOURCE];
await import(pathToFileURL(entry).href);
