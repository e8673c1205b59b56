import { parse } from 'csv-parse/sync';
import { errorCode } from '../../../../shared/values/errorCode.ts';
import { delimiterOf } from '../body/csvDelimiter.ts';
import { MAX_TEXT_CHARACTERS } from '../limits.ts';
import type { Extraction } from './extractedText.ts';

/** A longer record means an unclosed quote. */
const MAX_RECORD_CHARACTERS = 200_000;
/** Quotes and delimiters make a table a little longer than its text. */
const MAX_PARSED_CHARACTERS = 1.25 * MAX_TEXT_CHARACTERS;

/** Returns a table as one line per row with tab-separated cells. CSV that cannot be parsed is returned unchanged. */
export function csvText(csv: string, contentType: string | null): Extraction {
  const isCut = csv.length > MAX_PARSED_CHARACTERS;
  const beginning = isCut ? csv.slice(0, MAX_PARSED_CHARACTERS) : csv;
  // The last line may be cut in the middle of a cell, so it is left out.
  const parsed = isCut ? beginning.slice(0, beginning.lastIndexOf('\n') + 1) || beginning : beginning;
  const rows = rowsOf(parsed, delimiterOf(parsed, contentType));
  const text = rows?.map((cells) => cells.map(inOneLine).join('\t')).join('\n') ?? parsed;
  return { title: null, text, truncated: isCut };
}

function rowsOf(csv: string, delimiter: string): string[][] | undefined {
  try {
    return parse(csv, {
      delimiter,
      bom: true,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_RECORD_CHARACTERS,
    });
  } catch (error) {
    if (errorCode(error)?.startsWith('CSV_')) return undefined;
    throw error;
  }
}

function inOneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim();
}
