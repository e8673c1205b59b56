import { readFile, stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { MAX_RECORD_BYTES, PACK_FORMAT, TERMS_VERSION } from '../../shared/limits.ts';
import { parseJsonBytes } from '../../shared/values/checkBody.ts';
import { recordTooLarge } from '../archive/packs/packRows.ts';
import { UsageError } from './options.ts';
import { escapeForTerminal } from './terminal.ts';

export const SMALLEST_RECORD = JSON.stringify({
  pack_format: PACK_FORMAT,
  terms_version: TERMS_VERSION,
  title: 'The title of the pack',
  authors: [{ name: 'The name of an author' }],
  license: 'CC-BY-4.0',
  outcome: 'positive',
});

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

export async function requireRecordFile(file: string, isDefault: boolean): Promise<void> {
  if ((await stat(file).catch(() => undefined))?.isFile()) return;
  const advice = isDefault
    ? ` Create it, or name another file with --record. The smallest record is ${SMALLEST_RECORD}.`
    : '';
  throw new UsageError(`There is no record ${escapeForTerminal(file)}.${advice}`);
}

/** @throws Problem `body_too_large`, `invalid_json`, `not_canonical` */
export async function readRecord(file: string): Promise<unknown> {
  if ((await stat(file)).size > MAX_RECORD_BYTES) throw recordTooLarge();
  return parseJsonBytes(await readFile(file));
}

/** Returns the path of a file relative to a folder, with `/`. */
export function pathWithin(folder: string, file: string): string {
  return relative(folder, file).replaceAll(sep, '/');
}
