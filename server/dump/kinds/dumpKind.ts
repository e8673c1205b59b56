import { z } from 'zod';
import type { EntryType } from '../../../shared/ledger/ledger.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { type DumpedRows, restoreRow } from '../../store/sqlite/node/dumpedRows.ts';
import type { DumpedArchive } from '../dumpedArchive.ts';

/*
 * A kind of lines in a dump, described once: where its rows are, which values a line may have, how a line is checked
 * against the earlier ones, and how it is restored. Values have the same rules as in a request; all fields are required
 * and no others are allowed.
 */

export interface DumpKind {
  rows: DumpedRows;
  schema: z.ZodType;
  /** The value that must grow from line to line. */
  order: (value: never) => number | string;
  /** Checks a line against the earlier lines. @throws DumpError; Problem if a record is invalid */
  check: (archive: DumpedArchive, value: never, line: number) => void;
  restore: (database: WriteDatabase, value: never) => void;
}

type Check<Value> = (archive: DumpedArchive, value: Value, line: number) => void;

type Rows = Omit<DumpedRows, 'members' | 'order'> & Partial<Pick<DumpedRows, 'members' | 'order'>>;

interface Description<Schema extends z.ZodType> {
  schema: Schema;
  /** A table whose columns are the members of the schema, or more. The order is that of the ledger by default. */
  rows: string | Rows;
  check?: Check<z.output<Schema>>;
  /** By default, a line is inserted as a row unchanged. */
  restore?: (database: WriteDatabase, value: z.output<Schema>) => void;
}

/** A kind of lines that no entry of this ledger covers. */
export function kind<Schema extends z.ZodType>({
  schema,
  order,
  rows,
  check = () => {},
  restore,
}: Description<Schema> & { order: (value: z.output<Schema>) => number | string }): DumpKind {
  const given = typeof rows === 'string' ? { from: rows } : rows;
  const dumped = { members: membersOf(schema), order: 'ledger_entry', ...given };
  return {
    rows: dumped,
    schema,
    order,
    check,
    restore: restore ?? ((database, value) => restoreRow(database, dumped, value)),
  };
}

/** A kind of lines that ledger entries record: the line's digest must be that of the entry. */
export function recorded<Schema extends z.ZodType<{ ledger_entry: number }>>({
  types,
  digest,
  check = () => {},
  ...description
}: Description<Schema> & {
  types: readonly EntryType[];
  digest: (value: z.output<Schema>, archive: DumpedArchive, line: number) => string;
}): DumpKind {
  return kind({
    ...description,
    order: ({ ledger_entry }) => ledger_entry,
    check: (archive, value, line) => {
      archive.ledger.addRecord(value.ledger_entry, types, digest(value, archive, line), line);
      check(archive, value, line);
    },
  });
}

function membersOf(schema: z.ZodType): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape).filter((name) => name !== 'kind') : [];
}

/** A line of one kind, with no other fields. */
export function line<Kind extends string, Shape extends z.core.$ZodLooseShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...shape });
}

export const number = z.int().min(1);
export const count = z.int().min(0);
export const flag = z.union([z.literal(0), z.literal(1)]);
export const httpUrl = z.string().refine(isHttpUrl, 'An absolute http or https URL is required.');
