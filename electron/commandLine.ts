import { app } from 'electron';
import { main } from '../server/cli/main.ts';
import { startUtilityProcess } from './utilityChild.ts';

const SWITCH = '--cli';

/** The words of a command: what follows `--cli` on the app's command line. None where the window is wanted. */
export function commandArguments(argv: readonly string[]): string[] | undefined {
  const at = argv.indexOf(SWITCH);
  return at === -1 ? undefined : argv.slice(at + 1);
}

/**
 * Runs one command of `strongroom` in the app's own program and ends it with the command's exit code. The promise
 * resolves when nothing of the command is left to run before Electron itself is started: commands that need no process
 * of Electron's are run first, and so need no display either.
 */
export async function runCommand(words: string[]): Promise<void> {
  if (words[0] === 'serve') void serve(words).catch(giveUp);
  else await endWith(main(words));
}

/** A node starts utility processes, which exist once Electron is ready. */
async function serve(words: string[]): Promise<void> {
  await app.whenReady();
  app.dock?.hide();
  // The system quits apps without a signal, as at a logout; the command knows signals only.
  app.once('will-quit', () => process.emit('SIGTERM'));
  app.on('will-quit', (event) => event.preventDefault());
  await endWith(main(words, { startChild: startUtilityProcess }));
}

async function endWith(running: Promise<number>): Promise<void> {
  const code = await running;
  // What was printed last may still be on its way into a pipe.
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
    ),
  );
  app.exit(code);
}

function giveUp(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  app.exit(2);
}
