import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { MEGABYTE } from '../../shared/limits.ts';
import type { NodeConfig } from '../config.ts';
import { CLAIM } from '../copies/copyPaths.ts';

/** 0: done. 1: a check failed. 2: wrong usage, or the command could not be carried out. 3: nothing is wrong, but it is unsigned. */
export type ExitCode = 0 | 1 | 2 | 3;

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The full text of `--help`. */
  help: string;
  /** `config` holds what the calling program sets for a node that the command opens. */
  run(args: string[], config: Partial<NodeConfig>): Promise<ExitCode>;
}

/** The command was called with arguments that it does not accept. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints a value as one line of JSON. */
export function printJson(value: unknown): void {
  print(jsonForTerminal(value));
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Returns the only argument. @throws UsageError if there is none, or more than one */
export function requireOne(positionals: readonly string[], otherwise: string): string {
  const [only, ...others] = positionals;
  if (only === undefined || others.length > 0) throw new UsageError(otherwise);
  return only;
}

/** An option of a command: its definition for `parseArgs`, and its text in `--help`. */
interface Option {
  type: 'string' | 'boolean';
  short?: string;
  default?: string | boolean;
  /** The placeholder of the value, such as `FILE`. */
  value?: string;
  help: string;
}

export const DATA_OPTION = {
  type: 'string',
  default: 'strongroom-data',
  value: 'DIR',
  help: 'the data folder (default: ./strongroom-data)',
} as const;

export const JSON_OPTION = {
  type: 'boolean',
  default: false,
  help: 'print JSON instead of sentences',
} as const;

export const ACCEPT_ROLLBACK_OPTION = {
  type: 'boolean',
  default: false,
  help: 'continue with a database or dump that is behind what the node acknowledged or signed; the archive gets a new key, and a ledger entry records it',
} as const;

/** The options of every command that works on a data folder. */
export const ARCHIVE_OPTIONS = { data: DATA_OPTION, json: JSON_OPTION } as const;

/** The options of every command that may send requests to a running node. */
export const NODE_OPTIONS = {
  data: DATA_OPTION,
  url: {
    type: 'string',
    value: 'URL',
    help: 'the address of the running node (default: the one that it writes into its data folder)',
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    help: 'the file with the owner’s token (default: the one in the data folder)',
  },
  json: JSON_OPTION,
} as const;

/** The same where `--url` is the address of something else. */
export const NODE_AT_OPTIONS = {
  data: DATA_OPTION,
  node: NODE_OPTIONS.url,
  'token-file': NODE_OPTIONS['token-file'],
  json: JSON_OPTION,
} as const;

const MAX_WIDTH = 120;

/** The part of `--help` that lists the options: one aligned paragraph for each, in their order. */
export function optionsHelp(options: Readonly<Record<string, Option>>): string {
  const rows = Object.entries(options).map(([name, { short, value, help }]) => ({
    left: `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  }));
  const indent = Math.max(...rows.map(({ left }) => left.length)) + 4;
  return rows
    .flatMap(({ left, help }) =>
      wrap(help, MAX_WIDTH - indent).map((line, index) =>
        index === 0 ? `  ${left}`.padEnd(indent) + line : ' '.repeat(indent) + line,
      ),
    )
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}

/** The options that say how a bucket is reached. Its access key comes from the environment or the usual files. */
export const TARGET_OPTIONS = {
  endpoint: { type: 'string', value: 'URL', help: 'the address of the object store (default: that of AWS)' },
  region: { type: 'string', value: 'NAME', help: 'the region of the bucket (default: us-east-1)' },
} as const;

export const TARGET_HELP = `TARGET is a folder, or a bucket as s3://bucket/prefix. The access key of a bucket is read from the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or from the usual files.`;

/** Returns the address of the one target that a command was given. @throws UsageError */
export function targetOf([target, ...more]: readonly string[]): string {
  if (target === undefined || more.length > 0) throw new UsageError('Name one folder or bucket.');
  return isCopyAddress(target) ? target : pathToFileURL(resolve(target)).href;
}

/** Returns whether a word names the place of a copy by its URL. */
function isCopyAddress(word: string): boolean {
  return /^(file|s3):\/\//.test(word);
}

/** Returns whether a word names a copy: by its URL, or as the folder that holds it. */
export function namesCopy(word: string): boolean {
  return isCopyAddress(word) || existsSync(join(word, CLAIM));
}

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

/** Control, format and private characters, and separators of lines and paragraphs. */
const UNSEEN = '\\p{Cc}\\p{Cf}\\p{Co}\\p{Zl}\\p{Zp}';
const UNSEEN_IN_TEXT = new RegExp(`[${UNSEEN}\\p{Cs}]`, 'gu');
/** `JSON.stringify` escapes surrogates that stand alone. */
const UNSEEN_IN_JSON = new RegExp(`[${UNSEEN}]`, 'gu');

/**
 * Escapes text from elsewhere for a terminal: control and format characters, which could move the cursor or change
 * colour or text direction, are written as `\u{…}`.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(UNSEEN_IN_TEXT, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** Writes JSON in which such characters are escaped too. JSON itself allows those from U+007F on; the value is the same. */
export function jsonForTerminal(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16);
      return `\\u${unit.padStart(4, '0')}`;
    }).join(''),
  );
}
