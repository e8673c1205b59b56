import { hexToBytes } from '@noble/hashes/utils.js';
import type { FoundDigest } from '../../../../shared/archive/citation.ts';
import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import { aboutEntry } from '../../../../shared/proof/about.ts';
import { fromBase64 } from '../../../../shared/proof/crypto/bytes.ts';
import { aboutWords, headWords, shownPath } from '../../../../shared/proof/words.ts';
import type { ChecksumEntry } from '../../../../shared/values/checksums.ts';
import { call } from '../../api/client.ts';
import { countOf, formatCount } from '../../format.ts';
import {
  type CheckpointComparison,
  checkCheckpoint,
  parseCheckpoint,
  provesInclusion,
  type SavedCheckpoint,
} from '../ledger/checkpoint/compareCheckpoint.ts';
import type { FileProof } from './bagFile.ts';

/** What is known of a dropped file. */
export type Verdict =
  /** Not read yet, or being read. */
  | 'waiting'
  /** Its digest is the one that a dropped list gives, or it is an evidence file whose claims hold. */
  | 'intact'
  /** A dropped list gives another digest. */
  | 'changed'
  /** A claim of an evidence file fails. */
  | 'altered'
  /** Nothing in an evidence file is wrong, but no valid signature of the key in it covers it. */
  | 'unsigned'
  /** Something in an evidence file could not be checked. */
  | 'unproven'
  /** In no list, but the archive has these bytes. */
  | 'in_archive'
  /** In no list, and the archive does not have these bytes. */
  | 'unknown'
  /** In no list, and the archive could not be asked yet. */
  | 'pending'
  /** A list names it, and it was not dropped. */
  | 'missing'
  | 'unreadable';

/** One dropped file, or one line of a list whose file was not dropped. */
export interface FileResult {
  /** Files that are dropped twice have one path. */
  key: number;
  path: string;
  bytes: number | null;
  sha256: string | null;
  /** The digest that a list gives, and the list's name as it is shown. */
  expected: string | null;
  list: string | null;
  /** What an evidence file proves by itself; null for any other file. */
  proof: FileProof | null;
  verdict: Verdict;
  found: FoundDigest | null;
  /** Why it could not be read. */
  error: string | null;
}

/** A dropped list with its name and lines. */
export interface DroppedList {
  path: string;
  entries: readonly ChecksumEntry[];
  faults: readonly number[];
}

/** Returns a path without `./`, with `/` as separator. */
function plainPath(path: string): string {
  return path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '');
}

/** What lists say of a file. */
export interface ListedLine {
  entry: ChecksumEntry;
  list: DroppedList;
  /** All lines that name this file: the first one, and those that name it again. */
  all: readonly ChecksumEntry[];
}

/**
 * Finds the line of a list for each file. A name in a list is relative to the folder of the list, or to the dropped
 * folder, or it is a name without folders that only one dropped file has.
 */
export class ListIndex {
  readonly #lists: readonly DroppedList[];
  /** By the path from the folder of the list. */
  readonly #byPath = new Map<string, ListedLine & { all: ChecksumEntry[] }>();
  /** By the path in the list, and by the name alone; null if lines of several files have it. */
  readonly #byListedPath = new Map<string, ListedLine | null>();
  readonly #byName = new Map<string, ListedLine | null>();

  constructor(lists: readonly DroppedList[]) {
    this.#lists = lists;
    for (const list of lists) {
      const folder = list.path.slice(0, list.path.lastIndexOf('/') + 1);
      for (const entry of list.entries) {
        const name = plainPath(entry.name);
        const known = this.#byPath.get(folder + name);
        if (known) known.all.push(entry);
        if (known) continue;
        const line = { entry, list, all: [entry] };
        this.#byPath.set(folder + name, line);
        const other = this.#byListedPath.get(name);
        const isOne = other === undefined || other?.entry.sha256 === entry.sha256;
        this.#byListedPath.set(name, isOne ? (other ?? line) : null);
        const last = name.slice(name.lastIndexOf('/') + 1);
        this.#byName.set(last, this.#byName.has(last) ? null : line);
      }
    }
  }

  lineFor(path: string): ListedLine | undefined {
    const plain = plainPath(path);
    const inside = plain.slice(plain.indexOf('/') + 1);
    const found =
      this.#byPath.get(plain) ??
      this.#byListedPath.get(plain) ??
      this.#byPath.get(inside) ??
      this.#byListedPath.get(inside);
    return found ?? this.#byName.get(plain.slice(plain.lastIndexOf('/') + 1)) ?? undefined;
  }

  /** Returns the lines whose files are not among these paths. */
  missing(paths: Iterable<string>): { entry: ChecksumEntry; list: DroppedList }[] {
    const seen = new Set<ChecksumEntry>();
    for (const path of paths) for (const entry of this.lineFor(path)?.all ?? []) seen.add(entry);
    return this.#lists.flatMap((list) =>
      list.entries.filter((entry) => !seen.has(entry)).map((entry) => ({ entry, list })),
    );
  }
}

/** Whether the lines that name a file give different digests. Then no list says what it should be. */
export function isContradicted({ entry, all }: ListedLine): boolean {
  return all.some(({ sha256 }) => sha256 !== entry.sha256);
}

/** Judges a file that was hashed. Lists count first: what they say is about this file, not about any bytes. */
export function judge(
  sha256: string,
  expected: string | null,
  found: FoundDigest | null | undefined,
  proof: FileProof | null = null,
): Verdict {
  if (expected !== null && expected !== sha256) return 'changed';
  if (proof !== null) return proof.verdict === 'unknown' ? 'unproven' : proof.verdict;
  if (expected !== null) return 'intact';
  if (found === undefined) return 'pending';
  return found ? 'in_archive' : 'unknown';
}

export const VERDICT_WORDS: Record<Verdict, string> = {
  waiting: 'Waiting',
  intact: 'Intact',
  changed: 'Changed',
  altered: 'Altered',
  unsigned: 'Unsigned',
  unproven: 'Unknown',
  in_archive: 'In the archive',
  unknown: 'Not in the archive',
  pending: 'Look-up pending',
  missing: 'Missing',
  unreadable: 'Unreadable',
};

/** The order in which results are listed: what needs attention first. */
export const VERDICT_ORDER: readonly Verdict[] = [
  'altered',
  'changed',
  'missing',
  'unreadable',
  'unsigned',
  'unproven',
  'unknown',
  'pending',
  'waiting',
  'intact',
  'in_archive',
];

export function countVerdicts(results: readonly FileResult[]): Record<Verdict, number> {
  const counts = Object.fromEntries(VERDICT_ORDER.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

export type ReportFormat = 'txt' | 'csv' | 'json';

export const REPORT_TYPES: Record<ReportFormat, string> = {
  txt: 'text/plain;charset=utf-8',
  csv: 'text/csv;charset=utf-8',
  json: 'application/json',
};

export interface ReportSubject {
  node: string;
  /** The time of the report. */
  at: string;
  results: readonly FileResult[];
  checkpoints: readonly CheckedNote[];
}

/** A checkpoint or proof as the report has it. */
interface ReportedCheckpoint {
  path: string;
  verdict: Verdict;
  origin: string;
  size: number;
  root: string;
  detail: string;
}

/** Writes the report on a verification. */
export function reportText(
  format: ReportFormat,
  { node, at, results, checkpoints: notes }: ReportSubject,
): string {
  const checkpoints = notes.map(reported);
  switch (format) {
    case 'json': {
      const files = results.map(({ key: _, ...file }) => file);
      const report = { node, at, counts: countVerdicts(results), files, checkpoints };
      return `${JSON.stringify(report, null, 1)}\n`;
    }
    case 'csv':
      return [CSV_COLUMNS.join(','), ...results.map(csvLine), ...checkpoints.map(csvNote), ''].join('\r\n');
    case 'txt':
      return plainReport(results, checkpoints, { node, at });
  }
}

function reported({ note, result }: CheckedNote): ReportedCheckpoint {
  const { path, saved } = note;
  const { origin, seq, root } = saved;
  const detail = checkpointWords(note, result);
  return { path, verdict: verdictOf(note, result), origin, size: seq, root, detail };
}

const CSV_COLUMNS = [
  'path',
  'verdict',
  'bytes',
  'sha256',
  'expected',
  'list',
  'pack',
  'source',
  'error',
] as const;

function csvLine(result: FileResult): string {
  const { path, verdict, bytes, sha256, expected, list, proof, found, error } = result;
  const cells = [
    path,
    verdict,
    bytes,
    sha256,
    expected,
    list ?? proof?.words,
    found?.pack?.id,
    found?.source?.id,
    error,
  ];
  return csvCells(cells);
}

/** A checkpoint has a path, a verdict and a detail. */
function csvNote({ path, verdict, detail }: ReportedCheckpoint): string {
  const cells: Partial<Record<(typeof CSV_COLUMNS)[number], string>> = { path, verdict, error: detail };
  return csvCells(CSV_COLUMNS.map((column) => cells[column]));
}

function csvCells(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map((cell) => (typeof cell === 'string' ? csvText(cell) : (cell ?? ''))).join(',');
}

/** A text that a spreadsheet would take for a formula gets an apostrophe. */
function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function plainReport(
  results: readonly FileResult[],
  checkpoints: readonly ReportedCheckpoint[],
  { node, at }: { node: string; at: string },
): string {
  const counts = countVerdicts(results);
  const lines = [
    'Strongroom verification report',
    `Made ${at}, against ${node}`,
    '',
    ...VERDICT_ORDER.filter((verdict) => counts[verdict] > 0).map(
      (verdict) => `${VERDICT_WORDS[verdict]}: ${counts[verdict]}`,
    ),
    '',
  ];
  for (const { path, verdict, sha256, expected, proof, error } of results) {
    lines.push(`${VERDICT_WORDS[verdict]}\t${sha256 ?? '-'}\t${shownPath(path)}`);
    if (verdict === 'changed') lines.push(`\texpected ${expected}`);
    if (proof) lines.push(`\t${onOneLine(proof.words)}`);
    if (error) lines.push(`\t${onOneLine(error)}`);
  }
  for (const { path, verdict, detail } of checkpoints)
    lines.push(`${VERDICT_WORDS[verdict]}\t-\t${shownPath(path)}`, `\t${onOneLine(detail)}`);
  return `${lines.join('\n')}\n`;
}

/** What a file says must not be taken for a line of the report. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?');
}

/** A dropped checkpoint, alone or at the end of a `.tlog-proof` file. */
export interface CheckpointNote {
  path: string;
  saved: SavedCheckpoint;
  /** Absent for a checkpoint alone. */
  proof: InclusionProof | undefined;
}

/** The audit path of a proof file (https://c2sp.org/tlog-proof). `index` counts from 0. */
interface InclusionProof {
  index: number;
  hashes: Uint8Array[];
}

export type CheckpointResult =
  | { state: 'pending' }
  | { state: 'checked'; comparison: CheckpointComparison; proven: ProvenEntry | undefined };

/** The entry that a proof file is about, and whether the proof leads from it to the checkpoint. */
interface ProvenEntry {
  entry: LedgerEntry | undefined;
  holds: boolean;
}

const PROOF_HEADER = 'c2sp.org/tlog-proof@v1\n';
const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra [^\n]*\n)?index (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n/;

/** Parses a checkpoint or a proof file, or returns undefined. */
export function parseCheckpointNote(path: string, text: string): CheckpointNote | undefined {
  const found = PROOF.exec(text);
  if (text.startsWith(PROOF_HEADER) && !found) return undefined;
  const parsed = parseCheckpoint(found ? text.slice(found[0].length) : text);
  if (!('saved' in parsed)) return undefined;
  if (!found) return { path, saved: parsed.saved, proof: undefined };
  const [, index = '', lines = ''] = found;
  const hashes = lines.split('\n').slice(0, -1).map(fromBase64);
  return { path, saved: parsed.saved, proof: { index: Number(index), hashes } };
}

/**
 * Asks the node for its keys, a consistency proof and, for a proof file, the entry. Verifies here that the node signed
 * the checkpoint, that its ledger begins with it, and that the proof leads from the entry to the checkpoint.
 */
export async function checkNote(note: CheckpointNote, node: string): Promise<CheckpointResult> {
  const { saved, proof } = note;
  const comparison = await checkCheckpoint(saved, node);
  if (!proof) return { state: 'checked', comparison, proven: undefined };
  const { items } = await call('readLedger', { query: { from: proof.index + 1, limit: 1 } });
  const entry = items.find(({ seq }) => seq === proof.index + 1);
  const tree = { size: saved.seq, root: saved.root };
  const holds = entry !== undefined && provesInclusion(entry, proof, tree);
  return { state: 'checked', comparison, proven: { entry, holds } };
}

/** Returns the verdict on a checkpoint or proof: intact only if the node signed it and its ledger was proven to begin with it. */
export function verdictOf(
  { saved, proof }: CheckpointNote,
  result: CheckpointResult,
): 'pending' | 'unknown' | 'changed' | 'intact' {
  if (result.state === 'pending') return 'pending';
  const { comparison, proven } = result;
  if (comparison.signer.is === 'unknown') return 'unknown';
  const isAltered = comparison.signer.is === 'altered' || comparison.differences.length > 0;
  if (isAltered || proven?.holds === false) return 'changed';
  // Every ledger begins with no entries.
  const begins = comparison.proven || saved.seq === 0;
  return begins && (!proof || proven?.holds === true) ? 'intact' : 'unknown';
}

/** A dropped checkpoint or proof, and what was found out about it. */
export interface CheckedNote {
  /** It may be dropped twice. */
  key: number;
  note: CheckpointNote;
  result: CheckpointResult;
}

/** Says in sentences what was found out about a checkpoint or proof. */
export function checkpointWords({ saved, proof }: CheckpointNote, result: CheckpointResult): string {
  if (result.state === 'pending') return 'Look-up pending';
  const { comparison, proven } = result;
  const { signer, key = '', differences, since, otherNode } = comparison;
  if (signer.is === 'altered')
    return 'The checkpoint was altered: its signature does not match. The file says nothing about the ledger.';
  if (signer.is === 'unknown')
    return otherNode
      ? `The checkpoint is from another node, ${saved.origin}. Verify it there.`
      : 'None of this node’s current or former keys signed the checkpoint.';
  if (differences.length > 0)
    return 'The ledger does not begin with this checkpoint: it was rewritten after the checkpoint was signed.';
  const head = { origin: saved.origin, size: saved.seq, root: hexToBytes(saved.root) };
  const ledger =
    saved.seq === 0
      ? 'It is of a ledger without entries, with which every ledger begins.'
      : `The ledger begins with this checkpoint; ${countOf(since, 'entry', 'entries')} were added since.`;
  const checkpoint = `${ledger} It is of ${headWords(head, key)}.`;
  if (!proof) return checkpoint;
  const number = formatCount(proof.index + 1);
  if (!proven?.holds)
    return `The proof is not valid: it does not lead from entry ${number} to the checkpoint. The file was changed.`;
  const entry = proven.entry ? aboutWords(aboutEntry(proven.entry, key)) : `entry ${number}`;
  return `This ${entry} is in the signed ledger. ${checkpoint}`;
}
