import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { errorCode } from '../../shared/values/errorCode.ts';
import { escapeForTerminal } from './terminal.ts';

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
