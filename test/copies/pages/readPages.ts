import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The folders of a copy that hold no pages. */
const OTHERS = /^(archive|files|records|state|tile)\//;
const OTHER_FILES = new Set(['checkpoint', 'strongroom.json', 'withheld.txt']);

/** Reads the files that a copy holds for readers, by their paths. */
export async function readPages(copy: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const entries = await readdir(copy, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(copy.length + 1).replaceAll('\\', '/');
    if (!entry.isFile() || OTHERS.test(path) || OTHER_FILES.has(path)) continue;
    pages.set(path, await readFile(file, 'utf8'));
  }
  return new Map([...pages].sort(([left], [right]) => (left < right ? -1 : 1)));
}
