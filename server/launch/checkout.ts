import { buildIfStale } from './build.ts';
import { exitWithParent } from './exitWithParent.ts';

const NEEDED_NODE = 24;

/** Builds the interface that a node serves. Without it the node still serves everything but pages. */
async function buildInterface(): Promise<void> {
  try {
    await buildIfStale('renderer', complain);
  } catch (error) {
    complain(
      `The interface is not served, because it could not be built. ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function complain(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** `npm run strongroom`: the command line of a checkout. What is installed has its interface, and nobody's npm. */
const [command, ...args] = process.argv.slice(2);
exitWithParent();
if (command === 'serve' && !args.includes('--help') && isNewEnough()) await buildInterface();
await import('../cli.ts');

function isNewEnough(): boolean {
  return Number(process.versions.node.split('.')[0]) >= NEEDED_NODE;
}
