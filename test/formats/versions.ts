import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** The examples of each version, in a folder that is named after it. They are never changed once it was released. */
export const VERSIONS = resolve(import.meta.dirname, '../fixtures');

/** Returns the versions that have examples, oldest first. */
export async function versionsWithExamples(): Promise<string[]> {
  const entries = await readdir(VERSIONS, { withFileTypes: true });
  const versions = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The path of a file among the examples of a version. */
export const example = (version: string, file: string): string => join(VERSIONS, version, file);
