import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../shared/values/errorCode.ts';

/** Where systems keep fonts, and what says which of them is used. */
const PLACES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['/System/Library/Fonts', '/Library/Fonts', join(homedir(), 'Library/Fonts')],
  win32: ['C:\\Windows\\Fonts', join(homedir(), 'AppData\\Local\\Microsoft\\Windows\\Fonts')],
};
const UNIX_PLACES = [
  '/etc/fonts',
  '/usr/share/fonts',
  '/usr/local/share/fonts',
  join(homedir(), '.fonts'),
  join(homedir(), '.local/share/fonts'),
  join(homedir(), '.config/fontconfig'),
];

/** A digest of the names and sizes of the fonts of this machine: another font draws another picture. */
export function fontsDigest(): string {
  const digest = createHash('sha256');
  for (const place of PLACES[process.platform] ?? UNIX_PLACES)
    for (const name of filesIn(place)) digest.update(`${name} ${sizeOf(join(place, name))}\n`);
  return digest.digest('hex');
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

/** Folders count as nothing; so does a file that went away meanwhile. */
function sizeOf(file: string): number {
  try {
    const found = statSync(file);
    return found.isFile() ? found.size : 0;
  } catch (error) {
    if (isUnreadable(error)) return 0;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP'].includes(errorCode(error) ?? '');
}
