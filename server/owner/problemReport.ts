import { homedir, release } from 'node:os';
import type { Settings } from '../../shared/node/settings.ts';

interface ReportedNode {
  version: string;
  settings: Settings;
  /** The number of ledger entries. */
  entries: number;
  storedBytes: number;
  dataFolder: string;
  /** Lines of JSON. */
  log: readonly string[];
}

/**
 * Returns the text that the owner may attach to a report of a problem. It has no token, no password and no content of the
 * archive. Settings that name people, servers or addresses only say whether they are set. In the log, addresses lose what
 * comes after `?` or `#`, and paths the name of the account. The owner reads it before anything is saved; the node sends it
 * nowhere.
 */
export function problemReport({
  version,
  settings,
  entries,
  storedBytes,
  dataFolder,
  log,
}: ReportedNode): string {
  const { node, v8, electron, chrome } = process.versions;
  return [
    'A report of Strongroom. Read it before you pass it on: remove what should stay private.',
    '',
    'VERSIONS',
    `strongroom ${version}`,
    ...(electron === undefined ? [] : [`electron ${electron}`, `chrome ${chrome}`]),
    `node ${node}, v8 ${v8}`,
    `${process.platform} ${process.arch}, ${release()}`,
    '',
    'ARCHIVE',
    `ledger entries: ${entries}`,
    `stored bytes: ${storedBytes}`,
    '',
    'SETTINGS',
    ...Object.entries(settings).map(([name, value]) => `${name}: ${shownSetting(name, value)}`),
    '',
    `LOG (the last ${log.length} lines)`,
    ...log.map((line) => withoutPrivateParts(line, dataFolder)),
    '',
  ].join('\n');
}

/** Numbers and switches tell nothing about the owner. Texts and lists may. */
function shownSetting(name: string, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (name === 'retry_delays_seconds') return JSON.stringify(value);
  if (Array.isArray(value)) return `${value.length} given`;
  return value === '' ? 'none' : 'set';
}

const SIGN_IN = /(\/sign-in\/)\w+/g;
const TOKEN = /\b(?:invitation-)?[0-9a-f]{32,}\b/g;
/** A user and a password, and a query or a fragment: sites put tokens there. */
const USER = /(\bhttps?:\/\/)[^\s/@"\\]+@/gi;
const QUERY = /(\bhttps?:\/\/[^\s"\\?#]*)[?#][^\s"\\]*/gi;

function withoutPrivateParts(line: string, dataFolder: string): string {
  return withoutPath(withoutPath(line, dataFolder, '<data folder>'), homedir(), '~')
    .replace(SIGN_IN, '$1…')
    .replace(USER, '$1')
    .replace(QUERY, '$1?…')
    .replace(TOKEN, (token) => `${token.slice(0, 8)}…`);
}

/** The log is JSON, in which Windows' backslashes are escaped. */
function withoutPath(line: string, path: string, instead: string): string {
  if (path.length < 2) return line;
  return line.replaceAll(path, instead).replaceAll(JSON.stringify(path).slice(1, -1), instead);
}
