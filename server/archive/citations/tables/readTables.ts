import { buffer } from 'node:stream/consumers';
import type { PackFile } from '../../../../shared/archive/pack.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../../fixity/confirmDamage.ts';
import { isDamaged } from '../../../fixity/damages.ts';
import { HEAD_BYTES, isTable, parseHead, type TableDescription } from './parseHead.ts';

/** The maximum number of tables that are read, so that one request reads a few megabytes at most. */
const MAX_TABLES = 50;

/** A file of a pack, with its columns if it is a table. */
export interface DescribedFile {
  file: PackFile;
  /** A unique name among the files, of characters that every format accepts. */
  slug: string;
  table: TableDescription | undefined;
}

/** Returns the files of a pack with the columns of its tables, or undefined if none is a table. */
export async function readTables(
  store: DamageContext,
  files: readonly PackFile[],
): Promise<DescribedFile[] | undefined> {
  if (!files.some(isTable)) return undefined;
  const slugs = uniqueSlugs(
    files.map(({ path }) => path),
    'file',
  );
  const described: DescribedFile[] = [];
  let left = MAX_TABLES;
  for (const [index, file] of files.entries()) {
    const table = isTable(file) && left > 0 ? await readTable(store, file) : undefined;
    if (isTable(file)) left -= 1;
    described.push({ file, slug: slugs[index] ?? '', table });
  }
  return described;
}

/** Damaged bytes are not parsed. */
async function readTable(store: DamageContext, file: PackFile): Promise<TableDescription | undefined> {
  if (file.bytes === 0 || isDamaged(store.read, file.sha256)) return undefined;
  try {
    const head = await buffer(store.blobs.read(file.sha256, { start: 0, end: HEAD_BYTES - 1 }));
    return parseHead(file, head);
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    await confirmDamage(store, [file.sha256]);
    return undefined;
  }
}

/** Returns unique names of `a-z`, `0-9`, `.`, `_` and `-` for these texts, or `fallback` if nothing of a text remains. */
export function uniqueSlugs(texts: readonly string[], fallback: string): string[] {
  const taken = new Set<string>();
  // Where to go on counting for each base, so that thousands of equal ones take linear time.
  const counts = new Map<string, number>();
  return texts.map((text) => {
    const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    const base = plain.replace(/[^a-z0-9._]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || fallback;
    let slug = base;
    let count = counts.get(base) ?? 2;
    for (; taken.has(slug); count += 1) slug = `${base}-${count}`;
    counts.set(base, count);
    taken.add(slug);
    return slug;
  });
}
