import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SPOOL_TABLES } from '../../server/store/sqlite/collection/captures.ts';
import { OVERWRITTEN_TABLE } from '../../server/store/sqlite/collection/documentSearch.ts';
import {
  createPackageTables,
  createWrittenObjectsTable,
} from '../../server/store/sqlite/collection/warcRows.ts';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import { declaredQueries } from '../../server/store/sqlite/engine/queries.ts';
import { EXPECTED_TABLES } from '../../server/store/sqlite/node/copiedFiles.ts';

/*
 * Prints as JSON what is wrong with the declared queries of the server, and how many there are. It runs in a process of
 * its own, where nothing else declares any.
 */

const root = resolve(import.meta.dirname, '../..');
for (const file of globSync('server/**/*.ts', { cwd: root }))
  if (readFileSync(join(root, file), 'utf8').includes('engine/queries.ts')) await import(join(root, file));

const database = openForWriting(':memory:');
migrate(database);
createPackageTables(database);
createWrittenObjectsTable(database);
for (const tables of [SPOOL_TABLES, EXPECTED_TABLES, OVERWRITTEN_TABLE]) database.exec(tables);

/** The tables with a row for each retrieval, page, hand-in, pack, object or withholding. */
const LARGE = [
  'retrievals',
  'page_captures',
  'hand_ins',
  'packs',
  'pack_files',
  'blobs',
  'withheld_objects',
  'withholdings',
];

/** The large tables of which the plan of a statement reads every row. The plan names tables by their aliases. */
function tablesReadWhole(sql: string): string[] {
  // Each placeholder needs a value. The plan is the same for all values.
  const names = Object.fromEntries([...sql.matchAll(/\$(\w+)/g)].map(([, name = '']) => [name, null]));
  const values = sql.includes('$') ? [names] : [...sql.matchAll(/\?/g)].map(() => null);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
  const aliases = [...sql.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+(?:AS\s+)?([a-z]\w*))?/g)];
  const scanned = new Set(plan.flatMap(({ detail }) => /^SCAN (\w+)/.exec(detail)?.[1] ?? []));
  const isScanned = (name?: string) => name !== undefined && scanned.has(name);
  return LARGE.filter((large) =>
    aliases.some(([, table, alias]) => table === large && (isScanned(table) || isScanned(alias))),
  );
}

const problems = declaredQueries().flatMap((sql) => {
  const placeholders = new Set(sql.replaceAll(/'[^']*'/g, '').match(/\?|[$@:](?=\w)/g));
  if (placeholders.size > 1 || placeholders.has('@') || placeholders.has(':'))
    return [`The placeholders are neither all ? nor all $name: ${sql}`];
  try {
    const { readonly } = database.prepare(sql);
    if (readonly) return [];
    return tablesReadWhole(sql).map((table) => `Each change reads all of ${table}: ${sql}`);
  } catch (error) {
    return [`${String(error)}: ${sql}`];
  }
});
database.close();
process.stdout.write(JSON.stringify({ queries: declaredQueries().length, problems }));
