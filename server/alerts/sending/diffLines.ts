import type { Comparison, Hunk } from '../../../shared/collection/diff.ts';
import { plainLine } from '../../collection/diff/summarize.ts';

/** The first lines of a diff that a message quotes, and their length. */
const MAX_LINES = 12;
const MAX_LINE_CHARACTERS = 200;

/** Returns the first lines that a change removed (`− …`) and added (`+ …`); none for images and other bytes. */
export function diffLines(comparison: Comparison): string[] {
  const lines: string[] = [];
  for (const line of allLines(comparison)) {
    const text = plainLine(line.text, MAX_LINE_CHARACTERS);
    if (text !== '') lines.push(`${line.sign} ${text}`);
    if (lines.length === MAX_LINES) break;
  }
  return lines;
}

interface Line {
  sign: '+' | '−';
  text: string;
}

function* allLines(comparison: Comparison): Generator<Line> {
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      for (const hunk of comparison.hunks) yield* hunkLines(hunk);
      return;
    case 'json':
      for (const { pointer, from_pointer, before, after } of comparison.changes) {
        if (before) yield { sign: '−', text: `${from_pointer ?? pointer}: ${before.json}` };
        if (after) yield { sign: '+', text: `${pointer}: ${after.json}` };
      }
      return;
    case 'csv':
      for (const { op, cells } of comparison.rows) {
        const named = (side: 'before' | 'after') =>
          cells.map((cell) => `${cell.column}: ${cell[side] ?? ''}`).join(' | ');
        if (op !== 'added') yield { sign: '−', text: named('before') };
        if (op !== 'removed') yield { sign: '+', text: named('after') };
      }
      return;
    default:
  }
}

/** The whole lines of a passage that are in one version only, so that a changed word is quoted with its sentence. */
function* hunkLines({ parts }: Hunk): Generator<Line> {
  const linesOf = (without: 'added' | 'removed') =>
    parts
      .filter(({ op }) => op !== without)
      .map(({ text }) => text)
      .join('')
      .split('\n');
  const [before, after] = [linesOf('added'), linesOf('removed')];
  for (const text of before) if (!after.includes(text)) yield { sign: '−', text };
  for (const text of after) if (!before.includes(text)) yield { sign: '+', text };
}
