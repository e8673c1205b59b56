import type { z } from 'zod';
import type { EntryType } from '../../shared/ledger/ledger.ts';
import type { DumpedArchive } from './dumpedArchive.ts';

/** The checks for lines of one kind. */
export interface LineKind {
  schema: z.ZodType;
  /** The value that must grow from line to line. */
  order: (value: never) => number | string;
  /** Checks a line against the earlier lines. @throws DumpError; Problem if a record is invalid */
  check: (archive: DumpedArchive, value: never, line: number) => void;
}

export type Check<Value> = (archive: DumpedArchive, value: Value, line: number) => void;

/** A kind of line with its checks. */
export function kind<Schema extends z.ZodType>(
  schema: Schema,
  order: (value: z.output<Schema>) => number | string,
  check: Check<z.output<Schema>>,
): LineKind {
  return { schema, order, check };
}

/** A kind of line that a ledger entry records: the line's digest must be that of the entry. */
export function recorded<Schema extends z.ZodType<{ ledger_entry: number }>>(
  schema: Schema,
  types: readonly EntryType[],
  digest: (value: z.output<Schema>, archive: DumpedArchive, line: number) => string,
  check: Check<z.output<Schema>> = () => {},
): LineKind {
  return kind(
    schema,
    ({ ledger_entry }) => ledger_entry,
    (archive, value, line) => {
      archive.ledger.addRecord(value.ledger_entry, types, digest(value, archive, line), line);
      check(archive, value, line);
    },
  );
}
