import { createInterface } from 'node:readline/promises';
import { UsageError } from './command.ts';

/** Asks the person at the terminal to type “yes”. @throws UsageError if they do not, or if there is no terminal */
export async function requireConfirmation(sentence: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError(`${sentence} Add --yes to confirm it.`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    if ((await lines.question(`${sentence} Type “yes” to go on: `)) === 'yes') return;
  } finally {
    lines.close();
  }
  throw new UsageError('Nothing was done.');
}
