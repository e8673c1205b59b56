import { countVerdicts, type Finding, VERDICT_ORDER, VERDICT_WORDS } from './findings.ts';

export type ReportFormat = 'txt' | 'csv' | 'json';

export const REPORT_TYPES: Record<ReportFormat, string> = {
  txt: 'text/plain;charset=utf-8',
  csv: 'text/csv;charset=utf-8',
  json: 'application/json',
};

/** Writes the report on a verification. */
export function reportText(
  format: ReportFormat,
  findings: readonly Finding[],
  about: { node: string; at: string },
): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify({ ...about, counts: countVerdicts(findings), files: findings }, null, 1)}\n`;
    case 'csv':
      return [CSV_COLUMNS.join(','), ...findings.map(csvLine), ''].join('\r\n');
    case 'txt':
      return plainReport(findings, about);
  }
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

function csvLine(finding: Finding): string {
  const { path, verdict, bytes, sha256, expected, list, found, error } = finding;
  const cells = [path, verdict, bytes, sha256, expected, list, found?.pack?.id, found?.source?.id, error];
  return cells.map((cell) => (typeof cell === 'string' ? csvText(cell) : (cell ?? ''))).join(',');
}

/** A text that a spreadsheet would take for a formula gets an apostrophe. */
function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function plainReport(findings: readonly Finding[], { node, at }: { node: string; at: string }): string {
  const counts = countVerdicts(findings);
  const lines = [
    'Strongroom verification report',
    `Made ${at}, against ${node}`,
    '',
    ...VERDICT_ORDER.filter((verdict) => counts[verdict] > 0).map(
      (verdict) => `${VERDICT_WORDS[verdict]}: ${counts[verdict]}`,
    ),
    '',
  ];
  for (const { path, verdict, sha256, expected, error } of findings) {
    lines.push(`${VERDICT_WORDS[verdict]}\t${sha256 ?? '-'}\t${path.replace(/[\r\n\t]/g, '?')}`);
    if (verdict === 'changed') lines.push(`\texpected ${expected}`);
    if (error) lines.push(`\t${error}`);
  }
  return `${lines.join('\n')}\n`;
}
