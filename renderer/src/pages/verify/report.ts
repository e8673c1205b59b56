import { verdictOf } from './checkpointNote.ts';
import { checkpointWords } from './checkpointWords.ts';
import { countVerdicts, type FileResult, VERDICT_ORDER, VERDICT_WORDS, type Verdict } from './fileResults.ts';
import type { CheckedNote } from './verificationState.ts';

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
      const report = { node, at, counts: countVerdicts(results), files: results, checkpoints };
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
  return { path, verdict: verdictOf(result), origin, size: seq, root, detail: checkpointWords(note, result) };
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
  const { path, verdict, bytes, sha256, expected, list, found, error } = result;
  const cells = [path, verdict, bytes, sha256, expected, list, found?.pack?.id, found?.source?.id, error];
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
  for (const { path, verdict, sha256, expected, error } of results) {
    lines.push(`${VERDICT_WORDS[verdict]}\t${sha256 ?? '-'}\t${path.replace(/[\r\n\t]/g, '?')}`);
    if (verdict === 'changed') lines.push(`\texpected ${expected}`);
    if (error) lines.push(`\t${error}`);
  }
  for (const { path, verdict, detail } of checkpoints)
    lines.push(`${VERDICT_WORDS[verdict]}\t-\t${path.replace(/[\r\n\t]/g, '?')}`, `\t${detail}`);
  return `${lines.join('\n')}\n`;
}
