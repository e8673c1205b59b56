import type { Comparison, Hunk, JsonChange, TableRow } from '../../../shared/collection/diff.ts';
import { countOccurrences, occursIn, type Words } from './words.ts';

/** Whether the list of changes of a comparison is complete. */
export function isComplete(comparison: Comparison): boolean {
  if (comparison.truncated) return false;
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      return comparison.summary.unit !== 'whole';
    case 'json':
      return comparison.changes.every(({ before, after }) => !before?.cut && !after?.cut);
    default:
      return true;
  }
}

/** Returns whether a change added or removed one of the words. Images and other bytes have none. */
export function changesWords(comparison: Comparison, words: Words): boolean {
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      return comparison.hunks.some((hunk) => hunkChangesWords(hunk, words));
    case 'json':
      return comparison.changes.some((change) => occursIn(words, textOfJsonChange(change)));
    case 'csv': {
      const { from, to } = comparison.header;
      const columns = [...from, ...to].filter((name) => from.includes(name) !== to.includes(name));
      return (
        columns.some((name) => occursIn(words, name)) ||
        comparison.rows.some((row) => occursIn(words, textOfRow(row)))
      );
    }
    default:
      return false;
  }
}

/** A change may complete a phrase whose other words stayed, so whole passages are compared too. */
function hunkChangesWords({ parts }: Hunk, words: Words): boolean {
  if (parts.some(({ op, text }) => op !== 'same' && occursIn(words, text))) return true;
  const passage = (without: 'added' | 'removed') =>
    parts
      .filter(({ op }) => op !== without)
      .map(({ text }) => text)
      .join('');
  return countOccurrences(words, passage('added')) !== countOccurrences(words, passage('removed'));
}

function textOfJsonChange({ op, pointer, before, after }: JsonChange): string {
  const name = op === 'changed' ? '' : pointer.replaceAll(/[/~_-]/g, ' ');
  // Escaped line breaks and tabs would be read as letters.
  return `${name} ${before?.json ?? ''} ${after?.json ?? ''}`.replace(/\\[bfnrt]/g, ' ');
}

function textOfRow({ cells }: TableRow): string {
  return cells.map(({ before, after }) => `${before ?? ''} | ${after ?? ''}`).join(' | ');
}
