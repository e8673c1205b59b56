import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError } from './command.ts';

/** The environment variable that a passphrase is read from. */
const VARIABLE = 'STRONGROOM_PASSPHRASE';

export const PASSPHRASE_HELP = `The passphrase is read from the environment (${VARIABLE}), or asked for in a terminal.`;

/** Returns the passphrase from the environment, or asks for it without showing it. @throws UsageError if there is none */
export async function askPassphrase({ isNew }: { isNew: boolean }): Promise<string> {
  const given = process.env[VARIABLE];
  if (given) return given;
  if (!process.stdin.isTTY)
    throw new UsageError(`Set ${VARIABLE}, or run the command in a terminal to be asked for the passphrase.`);
  const first = await ask('Passphrase: ');
  if (isNew && (await ask('The same again: ')) !== first)
    throw new UsageError('The two passphrases differ. Nothing was done.');
  return first;
}

async function ask(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
