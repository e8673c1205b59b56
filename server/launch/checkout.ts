import { buildIfStale } from './build.ts';
import { exitWithParent } from './exitWithParent.ts';

const REQUIRED_NODE = 24;

/** Builds the web interface. If that fails, the node serves everything except pages. */
async function buildInterface(): Promise<void> {
  try {
    await buildIfStale('renderer', printError);
  } catch (error) {
    printError(
      `The interface is not served, because it could not be built. ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

// `npm run strongroom`: the command line of a checkout. An installed app is already built and is not started by npm.
const [command, ...args] = process.argv.slice(2);
exitWithParent();
if (command === 'serve' && !args.includes('--help') && isNewEnough()) await buildInterface();
await import('../cli.ts');

function isNewEnough(): boolean {
  return Number(process.versions.node.split('.')[0]) >= REQUIRED_NODE;
}
