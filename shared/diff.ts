import { z } from 'zod';
import { digestSchema } from './digest.ts';
import { noiseFindingsSchema } from './noise.ts';
import { instantSchema } from './text.ts';

const side = z.strictObject({
  sha256: digestSchema,
  /** Bytes as they are stored. */
  bytes: z.int(),
  content_type: z.string().nullable(),
});

const shared = {
  /** The number of the event. */
  event: z.int().min(1),
  from: side,
  to: side,
  made_at: instantSchema,
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  /** Whether more differs than is told here. The counts of `summary` are those of the whole. */
  truncated: z.boolean(),
  /** Why this is not the diff that one would expect of the two objects, or null. */
  reason: z.string().nullable(),
  noise: noiseFindingsSchema,
};

/** A stretch of text that both versions have, or one of them. */
const textPart = z.strictObject({ op: z.enum(['same', 'added', 'removed']), text: z.string() });
export type TextPart = z.output<typeof textPart>;

const hunk = z.strictObject({
  /** Where it begins in each version, counted from 1. */
  from_line: z.int().min(1),
  to_line: z.int().min(1),
  /** The page of the newer version, of a PDF only. */
  page: z.int().min(1).nullable(),
  parts: z.array(textPart),
});
export type Hunk = z.output<typeof hunk>;

/** How finely texts were compared: word by word, line by line where that was too much, or not at all. */
export const WORD_UNITS = ['words', 'lines', 'whole'] as const;

const wordParts = {
  summary: z.strictObject({ unit: z.enum(WORD_UNITS), added: z.int(), removed: z.int() }),
  hunks: z.array(hunk),
};
export type WordParts = { summary: z.output<typeof wordParts.summary>; hunks: Hunk[] };

/** A value as JSON text, cut where it is long. */
const jsonText = z.strictObject({ json: z.string(), cut: z.boolean() }).nullable();

const jsonChange = z.strictObject({
  op: z.enum(['added', 'removed', 'changed', 'moved']),
  /** A JSON Pointer (RFC 6901) into the newer version, into the older one where something was removed. */
  pointer: z.string(),
  /** Where it was before, where that is another place. */
  from_pointer: z.string().nullable(),
  before: jsonText,
  after: jsonText,
});
export type JsonChange = z.output<typeof jsonChange>;

const jsonParts = {
  summary: z.strictObject({ added: z.int(), removed: z.int(), changed: z.int(), moved: z.int() }),
  changes: z.array(jsonChange),
};
export type JsonParts = { summary: z.output<typeof jsonParts.summary>; changes: JsonChange[] };

const tableRow = z.strictObject({
  op: z.enum(['added', 'removed', 'changed']),
  /** Rows are counted from 1, below the header. */
  from_row: z.int().min(1).nullable(),
  to_row: z.int().min(1).nullable(),
  /** The value of the key column, where rows were matched by one. */
  key: z.string().nullable(),
  /** All cells of a row that was added or removed, those that differ of one that changed. */
  cells: z.array(
    z.strictObject({ column: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
  ),
});
export type TableRow = z.output<typeof tableRow>;

const tableParts = {
  summary: z.strictObject({
    rows_added: z.int(),
    rows_removed: z.int(),
    rows_changed: z.int(),
    cells_changed: z.int(),
    columns_added: z.int(),
    columns_removed: z.int(),
  }),
  header: z.strictObject({ from: z.array(z.string()), to: z.array(z.string()) }),
  /** The column that rows were matched by; null where they were matched by their order. */
  key: z.string().nullable(),
  rows: z.array(tableRow),
};
export type TableParts = {
  summary: z.output<typeof tableParts.summary>;
  header: z.output<typeof tableParts.header>;
  key: string | null;
  rows: TableRow[];
};

const size = z.strictObject({ width: z.int(), height: z.int() });

const imageParts = {
  summary: z.strictObject({
    /** Pixels that are not exactly the same, and those that an eye would tell apart; null where sizes differ. */
    differing_pixels: z.int().nullable(),
    visible_pixels: z.int().nullable(),
    /** `differing_pixels` of all pixels, 0 to 1. */
    share: z.number().nullable(),
  }),
  size: z.strictObject({ from: size, to: size }),
  /** What holds every pixel that differs, in pixels from the upper left corner; null where none is known to. */
  box: size.extend({ x: z.int(), y: z.int() }).nullable(),
};
export type ImageParts = {
  summary: z.output<typeof imageParts.summary>;
  size: z.output<typeof imageParts.size>;
  box: z.output<typeof imageParts.box>;
};

const byteParts = {
  summary: z.strictObject({
    /** How many bytes longer the newer version is; less than 0 where it is shorter. */
    length_change: z.int(),
    /** Counted from 0. */
    first_difference: z.int().nullable(),
  }),
  /** A few bytes from `offset` on, in hex, around the first difference; null where there is none. */
  around: z.strictObject({ offset: z.int(), from: z.string(), to: z.string() }).nullable(),
};
export type ByteParts = {
  summary: z.output<typeof byteParts.summary>;
  around: z.output<typeof byteParts.around>;
};

const words = <const Kind extends string>(kind: Kind) =>
  z.strictObject({ kind: z.literal(kind), ...shared, ...wordParts });

/** What differs between the two versions of one event, by the kind of object. */
export const diffSchema = z
  .discriminatedUnion('kind', [
    words('text').meta({ id: 'TextDiff' }),
    words('html').meta({ id: 'HtmlDiff' }),
    words('xml').meta({ id: 'XmlDiff' }),
    words('pdf').meta({ id: 'PdfDiff' }),
    z.strictObject({ kind: z.literal('json'), ...shared, ...jsonParts }).meta({ id: 'JsonDiff' }),
    z.strictObject({ kind: z.literal('csv'), ...shared, ...tableParts }).meta({ id: 'CsvDiff' }),
    z.strictObject({ kind: z.literal('image'), ...shared, ...imageParts }).meta({ id: 'ImageDiff' }),
    z.strictObject({ kind: z.literal('bytes'), ...shared, ...byteParts }).meta({ id: 'BytesDiff' }),
  ])
  .meta({ id: 'Diff' });
export type Diff = z.output<typeof diffSchema>;
export type DiffSide = z.output<typeof side>;

/** What the comparison itself comes to: a diff without what it is of and who made it when. */
export type Comparison = (
  | ({ kind: 'text' | 'html' | 'xml' | 'pdf' } & WordParts)
  | ({ kind: 'json' } & JsonParts)
  | ({ kind: 'csv' } & TableParts)
  | ({ kind: 'image' } & ImageParts)
  | ({ kind: 'bytes' } & ByteParts)
) &
  Pick<Diff, 'truncated' | 'reason' | 'noise'>;
