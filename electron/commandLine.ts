import { app } from 'electron';
import { main } from '../server/cli/main.ts';
import type { NodeConfig } from '../server/config.ts';
import { inBackground } from '../server/runtime/background.ts';
import { closeResolver, electronBrowser } from './electronBrowser.ts';
import { startUtilityProcess } from './processes.ts';

const SWITCH = '--cli';

/**
 * Returns the arguments after `--cli` on the app's command line; undefined if there is no `--cli`. After `--` stands what a
 * web page chose (`opened.ts`).
 */
export function commandArguments(argv: readonly string[]): string[] | undefined {
  const at = argv.indexOf(SWITCH);
  const end = argv.indexOf('--');
  return at === -1 || (end !== -1 && end < at) ? undefined : argv.slice(at + 1);
}

/** These draw pages or run other processes, which is possible only after Electron is ready. */
const NEED_ELECTRON = ['serve', 'page', 'draw'];

/**
 * Runs one command of `strongroom` in the app's program and exits with the command's exit code. Resolves when Electron
 * may start. Most commands are finished by then, so they need no display.
 */
export async function runCommand(args: string[]): Promise<void> {
  if (NEED_ELECTRON.includes(args[0] ?? '') && !args.includes('--help')) {
    closeResolver();
    inBackground(() => runInElectron(args), fail);
  } else await exitAfter(main(args));
}

async function runInElectron(args: string[]): Promise<void> {
  await app.whenReady();
  app.dock?.hide();
  const config: Partial<NodeConfig> = {
    startBrowser: electronBrowser(),
    startChild: startUtilityProcess,
  };
  if (args[0] === 'serve') await serve(args, config);
  else await exitAfter(main(args, config));
}

async function serve(args: string[], config: Partial<NodeConfig>): Promise<void> {
  // The system can quit an app without a signal, as at logout. The command only reacts to signals.
  app.once('will-quit', () => process.emit('SIGTERM'));
  app.on('will-quit', (event) => event.preventDefault());
  await exitAfter(main(args, config));
}

async function exitAfter(running: Promise<number>): Promise<void> {
  const code = await running;
  // Wait until the last output was written to the pipe.
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
    ),
  );
  app.exit(code);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  app.exit(2);
}
