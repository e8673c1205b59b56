import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { DumpError } from '../../server/dump/dumpFile.ts';
import { importDump } from '../../server/dump/importArchive.ts';
import { DUMP_KINDS } from '../../server/dump/kinds/kinds.ts';
import { restoreDump } from '../../server/dump/restoreDump.ts';
import { type NodeKey, signCheckpoint } from '../../server/ledger/checkpoint.ts';
import { entryText, fingerprintOf, hashOf } from '../../server/ledger/entry.ts';
import { GrowingTree, leafHash } from '../../server/ledger/tree.ts';
import { lastEntry } from '../../server/store/sqlite/node/ledger.ts';
import type { Store } from '../../server/store/store.ts';
import type { Finding } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import type { EntryType, LedgerEntry } from '../../shared/ledger/ledger.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';
import { filledArchive } from './filledArchive.ts';

export type Line = Record<string, unknown> & { kind: string };

export interface ValidDump {
  /** A folder that is removed after the tests of the file. */
  folder: string;
  /** The lines of a valid dump that has every kind. */
  lines: Line[];
  /** The data folder of the dumped archive, and the head of its ledger. */
  data: string;
  head: unknown;
  /** An empty archive, into which refused dumps are restored. */
  empty?: Store;
}

/** Creates a valid dump with every kind of line, once for all tests of a file. */
export function useValidDump(): ValidDump {
  const dump: ValidDump = { folder: '', lines: [], data: '', head: undefined };
  beforeAll(async () => {
    dump.folder = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
    dump.data = join(dump.folder, 'data');
    const node = await filledArchive(dump.data);
    dump.lines = parseLines(await (await node.node.fetch('/api/dump.jsonl')).text());
    dump.head = ((await (await node.node.fetch('/api/ledger')).json()) as { head: unknown }).head;
    await node.node.close();
    dump.empty = await openTestStore(join(dump.folder, 'empty'));
  });
  afterAll(async () => {
    await closeTestStores();
    await closeTestNodes();
    await closeScriptedWebs();
    await rm(dump.folder, { recursive: true });
  });
  return dump;
}

export function parseLines(dump: string): Line[] {
  return dump
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** Returns a dump of these lines, with a trailer that has their counts and digest. */
export function withTrailer(lines: readonly Line[]): string {
  const body = lines
    .filter(({ kind }) => kind !== 'trailer')
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
  const counts: Record<string, number> = {};
  for (const { kind } of lines.slice(1, -1)) counts[kind] = (counts[kind] ?? 0) + 1;
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${body}${JSON.stringify({ kind: 'trailer', counts, sha256 })}\n`;
}

/** What one more entry records, and the line of it. */
export interface Recorded {
  kind: string;
  type: EntryType;
  subject: string;
  record: object;
}

/**
 * Returns the dump with one more entry, which covers a record, and the line of that record. All is as the owner of a key signs
 * it, but for the trailer, which nobody signs.
 */
export function withRecord(
  key: NodeKey,
  lines: readonly Line[],
  { kind, type, subject, record }: Recorded,
): string {
  const entries = lines.flatMap((line) => {
    const { kind: of, ...entry } = line;
    return of === 'entry' ? (entry as unknown as LedgerEntry) : [];
  });
  const { seq, at, hash: prev } = entries.at(-1) as LedgerEntry;
  const unsealed = { seq: seq + 1, at, type, subject, digest: fingerprintOf(record), prev };
  const entry = { ...unsealed, hash: hashOf(unsealed) };
  const tree = new GrowingTree();
  for (const each of [...entries, entry]) tree.append(leafHash(entryText(each)));
  const signed = {
    node: key.name,
    key: key.verifierKey,
    checkpoint: signCheckpoint(key, { size: tree.size, root: tree.root() }),
  };
  const all = lines.map((line) => (line.kind === 'header' ? { ...line, ...signed } : line));
  for (const added of [
    { kind: 'entry', ...entry },
    { kind, ledger_entry: entry.seq, record },
  ]) {
    const isLater = (line: Line) => DUMP_KINDS.indexOf(line.kind) > DUMP_KINDS.indexOf(added.kind);
    const at = all.findIndex((line) => line.kind === 'trailer' || isLater(line));
    all.splice(at, 0, added);
  }
  return withTrailer(all);
}

/** Returns a copy of the lines in which one line, given by its kind and its index among that kind, is changed. */
export function altered(
  lines: readonly Line[],
  kind: string,
  at: number,
  change: (line: Line) => Line,
): Line[] {
  const copy = structuredClone(lines) as Line[];
  const index = indexOf(copy, kind, at);
  copy[index] = change(copy[index] as Line);
  return copy;
}

export function indexOf(lines: readonly Line[], kind: string, at: number): number {
  const indexes = lines.flatMap((line, index) => (line.kind === kind ? [index] : []));
  const index = indexes.at(at);
  if (index === undefined) throw new Error(`There is no line ${at} of the kind ${kind}.`);
  return index;
}

/**
 * Requires that `verify` and `import` refuse a dump with the same line and message, and that nothing is kept. With an empty
 * archive, only the step of the import that reads the dump is done, because a new data folder takes most of the time.
 */
export async function refusal(
  { folder, empty }: Pick<ValidDump, 'folder' | 'empty'>,
  dump: string,
): Promise<{ line: number | undefined; sentence: string }> {
  const own = await mkdtemp(join(folder, 'forged-'));
  const file = join(own, 'dump.jsonl');
  await writeFile(file, dump);
  const findings: Finding[] = [];
  for await (const batch of verifyPaths({ paths: [file] })) findings.push(...batch);
  const [found] = findings;
  const imported = empty ? restoreDump(empty, file) : importDump(join(own, 'new'), file, systemClock);
  const error: unknown = await imported.catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(DumpError);
  const { line, message: sentence } = error as DumpError;
  expect(found).toMatchObject({ state: 'changed', detail: sentence });
  expect(found?.line).toBe(line);
  if (empty) expect(lastEntry(empty.read)).toBeUndefined();
  expect(await readdir(own)).toEqual(['dump.jsonl']);
  return { line, sentence };
}

/** A change that sets one member of a line. */
export const member = (name: string, value: unknown) => (line: Line) => ({ ...line, [name]: value });
/** A change that sets one member of the record in a line. */
export const inRecord = (name: string, value: unknown) => (line: Line) => ({
  ...line,
  record: { ...(line.record as object), [name]: value },
});
