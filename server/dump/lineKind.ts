import type { z } from 'zod';
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

export function kind<Schema extends z.ZodType>(
  schema: Schema,
  order: (value: z.output<Schema>) => number | string,
  check: Check<z.output<Schema>>,
): LineKind {
  return { schema, order, check };
}
