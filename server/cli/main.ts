import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { errorCode } from '../../shared/values/errorCode.ts';
import { VERSION } from '../../shared/version.ts';
import type { NodeConfig } from '../config.ts';
import { keepProcessAlive } from '../runtime/background.ts';
import { type Command, type ExitCode, escapeForTerminal, print, printError, UsageError } from './command.ts';

/** Each command is imported when it is called, so that it does not load the modules of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  'sign-in': async () => (await import('./commands/key.ts')).signIn,
  watch: async () => (await import('./commands/collect.ts')).watch,
  check: async () => (await import('./commands/collect.ts')).check,
  page: async () => (await import('./commands/pages.ts')).page,
  draw: async () => (await import('./commands/pages.ts')).draw,
  get: async () => (await import('./commands/get.ts')).get,
  'hand-in': async () => (await import('./commands/handIn.ts')).handIn,
  cite: async () => (await import('./commands/cite.ts')).cite,
  diff: async () => (await import('./commands/diff.ts')).diff,
  profile: async () => (await import('./commands/profile.ts')).profile,
  pack: async () => (await import('./commands/pack.ts')).pack,
  publish: async () => (await import('./commands/pack.ts')).publish,
  verify: async () => (await import('./commands/verify.ts')).verify,
  ledger: async () => (await import('./commands/ledger.ts')).ledger,
  audit: async () => (await import('./commands/audit.ts')).audit,
  import: async () => (await import('./commands/import.ts')).importFiles,
  rebuild: async () => (await import('./commands/rebuild.ts')).rebuild,
  key: async () => (await import('./commands/key.ts')).key,
  copy: async () => (await import('./commands/copy.ts')).copy,
  restore: async () => (await import('./commands/restore.ts')).restore,
  move: async () => (await import('./commands/move.ts')).move,
  export: async () => (await import('./commands/export.ts')).exportFile,
};

/** The app contains Node 24; in a checkout, `npm run` puts it on the path. */
const REQUIRED_NODE = 24;

/** Runs one command and returns its exit code. An error is printed as one sentence on standard error. */
export async function main([name, ...args]: string[], config: Partial<NodeConfig> = {}): Promise<ExitCode> {
  if (Number(process.versions.node.split('.')[0]) < REQUIRED_NODE) {
    printError(
      `Strongroom needs Node ${REQUIRED_NODE}; this is ${process.versions.node}. Run it as: npm run -s strongroom -- <command>`,
    );
    return 2;
  }
  if (name === undefined || name === '--help' || name === 'help') {
    print(await overview());
    return name === undefined ? 2 : 0;
  }
  if (name === '--version') {
    print(VERSION);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.() : undefined;
  if (!command) {
    printError(`There is no command ${JSON.stringify(name)}. “strongroom --help” lists the commands.`);
    return 2;
  }
  if (args.includes('--help')) {
    print(command.help);
    return 0;
  }
  // Some of what a command waits for (child processes, threads) does not keep this process alive: it would end in silence.
  const mayEnd = keepProcessAlive();
  try {
    return await command.run(args, config);
  } catch (error) {
    printError(errorMessage(error, command));
    return 2;
  } finally {
    mayEnd();
  }
}

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'Usage: strongroom <command> [options]',
    '',
    ...lines,
    '',
    '“strongroom <command> --help” describes a command.',
  ].join('\n');
}

/** The message that is printed for an error: one sentence that says what to do, if that is known. */
export function errorMessage(error: unknown, command: Command): string {
  const isUsage = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
  const plain = isUsage ? undefined : plainSentence(error);
  if (plain !== undefined) return plain;
  const message = error instanceof Error ? error.message : String(error);
  if (!isUsage) return message;
  const sentence = /[.?!]$/.test(message) ? message : `${message}.`;
  return `${sentence} “strongroom ${command.name} --help” lists its options.`;
}

/** Stands for the name that an error does not have. */
const UNNAMED = 'what was named';

/** The sentence for a code of the system, with the file or host that it is about. */
const SYSTEM_ERRORS: Readonly<Record<string, (what: string) => string>> = {
  ENOENT: (what) => `There is no file or folder ${what}.`,
  ENOTDIR: (what) => `A part of the path ${what} is a file and not a folder; choose another place.`,
  EISDIR: (what) =>
    what === UNNAMED ? 'A folder was named where a file is needed.' : `${what} is a folder; name a file.`,
  EEXIST: (what) => `${what} already exists and is of the wrong type; choose another name.`,
  ENOTEMPTY: (what) => `${what} is not empty; choose another folder.`,
  EACCES: (what) => `This account may not open ${what}; give it permission, or choose another place.`,
  EPERM: (what) => `This account may not change ${what}; give it permission, or choose another place.`,
  EROFS: (what) => `${what} is on a disk that cannot be written; choose another place.`,
  ENAMETOOLONG: (what) => `The name ${what} is too long.`,
  ELOOP: (what) => `${what} is a symbolic link that leads back to itself.`,
  EMFILE: () => 'Too many files are open; raise the limit of open files and try again.',
  ENFILE: () => 'Too many files are open on this machine; close other programs and try again.',
  EFBIG: (what) => `${what} would be larger than the disk or the limit of this account allows.`,
  EIO: (what) => `The disk could not read or write ${what}; check the disk.`,
  EBUSY: (what) => `${what} is in use by another program; close it and try again.`,
  EPIPE: () => 'The program that read the output has ended.',
  ENOMEM: () => 'There is not enough memory; close other programs and try again.',
  ENOTFOUND: (what) => `There is no host ${what}; check its name and the network connection.`,
  EAI_AGAIN: (what) => `The name ${what} could not be looked up; check the network connection.`,
  ECONNREFUSED: (what) => `No program listens at ${what}; check the address and the port.`,
  ECONNRESET: (what) => `The connection to ${what} was interrupted; try again.`,
  ETIMEDOUT: (what) => `${what} did not answer in time; check the address and the network connection.`,
  EHOSTUNREACH: (what) => `${what} cannot be reached; check the address and the network connection.`,
  ENETUNREACH: (what) => `${what} cannot be reached; check the network connection.`,
};

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)$/;

interface SystemError {
  path?: unknown;
  dest?: unknown;
  hostname?: unknown;
  address?: unknown;
  port?: unknown;
  errno?: unknown;
}

/**
 * Explains an error of the system, of SQLite or of a parser in one sentence without its code; undefined for an error
 * whose message is already for people.
 */
export function plainSentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = errorCode(error);
  // A node that a command has opened itself says why it failed.
  if (code === 'internal_error' && error.cause !== undefined) return plainSentence(error.cause);
  if (code !== undefined && FULL.test(code)) return 'The disk is full: free some space and try again.';
  if (code?.startsWith('SQLITE_') === true) return databaseSentence(code);
  if (code !== undefined && /^E[A-Z_]+$/.test(code)) return systemSentence(code, error as SystemError);
  if (error.name === 'ZodError' || error.name === '$ZodError')
    return 'A file in the data folder has an unexpected format; it may be damaged or from another version.';
  if (error instanceof SyntaxError) return 'A file that should hold JSON cannot be read; it may be damaged.';
  // `fetch` and others wrap the error that says what happened.
  return error.cause === undefined || !isRaw(error.message) ? undefined : plainSentence(error.cause);
}

function databaseSentence(code: string): string {
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return 'Another program has the database open; close it and try again.';
  if (/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code))
    return 'This account may not open the database; give it permission to write to the data folder.';
  if (code.startsWith('SQLITE_IOERR'))
    return 'The disk could not read or write the database; check the disk.';
  return 'The database cannot be read; “strongroom audit” reports what is damaged.';
}

function systemSentence(code: string, error: SystemError): string {
  const what = escapeForTerminal(nameIn(error));
  const known = SYSTEM_ERRORS[code];
  if (known) return known(what);
  const text = typeof error.errno === 'number' ? getSystemErrorMap().get(error.errno)?.[1] : undefined;
  return `The system refused to work with ${what}${text === undefined ? '' : `: ${text}`}.`;
}

/** A file that people do not name: it says more to name its folder. */
const OWN_FILE = /(?:\.partial|\.unfinished|\.new|[\\/]strongroom\.db)$/;

/** What the error is about: the file or the host. */
function nameIn({ path, dest, hostname, address, port }: SystemError): string {
  const name = [dest, path, hostname].find((each) => typeof each === 'string' && each !== '');
  if (typeof name === 'string') return OWN_FILE.test(name) ? dirname(name) : name;
  if (typeof address === 'string') return typeof port === 'number' ? `${address}:${port}` : address;
  return UNNAMED;
}

/** Returns whether a message is a program's own and not a sentence for people. */
function isRaw(message: string): boolean {
  return message === 'fetch failed' || /\bE[A-Z]{3,}\b|getaddrinfo/.test(message);
}
