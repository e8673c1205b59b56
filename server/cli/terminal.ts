import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { MEGABYTE } from '../../shared/limits.ts';
import { UsageError } from './options.ts';

/** A progress line that is rewritten in place. Writes nothing if the stream is not a terminal. */
interface Progress {
  /** Adds bytes to the total. */
  found(bytes: number): void;
  /** Adds bytes to those done. */
  read(bytes: number): void;
  /** Removes the line, so that another line can be printed. */
  clear(): void;
}

const UPDATE_INTERVAL_MS = 200;

export function openProgress(stream: NodeJS.WriteStream): Progress {
  let total = 0;
  let done = 0;
  let updatedAt = 0;
  let isShown = false;
  const isTerminal = stream.isTTY === true;
  return {
    found: (bytes) => {
      total += bytes;
    },
    read: (bytes) => {
      done += bytes;
      const now = performance.now();
      if (!isTerminal || now - updatedAt < UPDATE_INTERVAL_MS) return;
      updatedAt = now;
      isShown = true;
      stream.write(`\r\x1b[K${megabytes(done)} of ${megabytes(total)} MB read`);
    },
    clear: () => {
      if (isShown) stream.write('\r\x1b[K');
      isShown = false;
    },
  };
}

function megabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1);
}

/** Asks the person at the terminal to type “yes”. @throws UsageError if they do not, or if there is no terminal */
export async function requireConfirmation(sentence: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError(`${sentence} Add --yes to confirm it.`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    if ((await lines.question(`${sentence} Type “yes” to continue: `)) === 'yes') return;
  } finally {
    lines.close();
  }
  throw new UsageError('Nothing was done.');
}

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
  if (isNew && (await ask('Repeat the passphrase: ')) !== first)
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

/**
 * Escapes text from elsewhere for a terminal: control and format characters, which could move the cursor or change
 * colour or text direction, are written as `\u{…}`.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
