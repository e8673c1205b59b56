import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CLAIM } from '../copies/copyPaths.ts';
import { UsageError } from './options.ts';

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
