import { parse } from 'csv-parse/browser/esm/sync';
import { useMemo } from 'react';
import { MAX_TABLE_ROWS } from './previewKind.ts';
import { RowsTable } from './RowsTable.tsx';
import { TextBox } from './TextBox.tsx';

export interface CsvTableProps {
  text: string;
  /** Whether `text` is the whole file. If not, the last line may be cut off and is dropped. */
  isWhole: boolean;
  isTabbed: boolean;
}

/** The first rows of a CSV file as a table, or as plain text if it cannot be parsed. */
export function CsvTable({ text, isWhole, isTabbed }: CsvTableProps) {
  const rows = useMemo(() => readRows(text, isWhole, isTabbed), [text, isWhole, isTabbed]);
  if (!rows || rows.length === 0) {
    return <TextBox text={text} label="Content of the table" />;
  }
  return <RowsTable rows={rows} isWhole={isWhole} />;
}

function readRows(text: string, isWhole: boolean, isTabbed: boolean): string[][] | undefined {
  const complete = isWhole ? text : text.slice(0, text.lastIndexOf('\n') + 1);
  const firstLine = complete.split('\n', 1)[0] ?? '';
  const delimiter = isTabbed ? '\t' : firstLine.includes(';') && !firstLine.includes(',') ? ';' : ',';
  try {
    return parse(complete, {
      bom: true,
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_TABLE_ROWS + 2,
    });
  } catch {
    return undefined;
  }
}
