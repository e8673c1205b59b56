import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { noiseFindingsSchema, noiseRulesSchema, watchOutcomeSchema, watchSchema } from './noise.ts';

const side = z.strictObject({
  sha256: digestSchema,
  /** The size as stored. */
  bytes: z.int(),
  content_type: z.string().nullable(),
});

const shared = {
  from: side,
  to: side,
  made_at: instantSchema,
  tool: z.strictObject({ name: z.string(), version: z.string() }),
  /** Whether the list of changes is incomplete. The counts of `summary` cover all changes. */
  truncated: z.boolean(),
  /** Why the diff is limited or empty, or null. */
  reason: z.string().nullable(),
};

/** What only the diff of an event has. */
const ofEvent = {
  /** The number of the event. */
  event: z.int().min(1),
  noise: noiseFindingsSchema,
};

/** A piece of text that is in both versions or in one of them. */
const textPart = z.strictObject({ op: z.enum(['same', 'added', 'removed']), text: z.string() });
export type TextPart = z.output<typeof textPart>;

const hunk = z.strictObject({
  /** The first line in each version, counted from 1. */
  from_line: z.int().min(1),
  to_line: z.int().min(1),
  /** For PDFs, the page in the newer version. */
  page: z.int().min(1).nullable(),
  parts: z.array(textPart),
});
export type Hunk = z.output<typeof hunk>;

/** How texts were compared: by words, partly by lines because there were too many changes, or not at all. */
const WORD_UNITS = ['words', 'lines', 'whole'] as const;

const wordParts = {
  summary: z.strictObject({ unit: z.enum(WORD_UNITS), added: z.int(), removed: z.int() }),
  hunks: z.array(hunk),
};
export type WordParts = { summary: z.output<typeof wordParts.summary>; hunks: Hunk[] };

/** A value as JSON text, cut if it is long. */
const jsonText = z.strictObject({ json: z.string(), cut: z.boolean() }).nullable();

const jsonChange = z.strictObject({
  op: z.enum(['added', 'removed', 'changed', 'moved']),
  /** A JSON Pointer (RFC 6901) into the newer version; for `removed`, into the older one. */
  pointer: z.string(),
  /** The pointer into the older version, if it differs. */
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
  /** Row numbers start at 1, below the header. */
  from_row: z.int().min(1).nullable(),
  to_row: z.int().min(1).nullable(),
  /** The value of the key column, if rows were matched by one. */
  key: z.string().nullable(),
  /** All cells of an added or removed row; of a changed row, those that differ. */
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
  /** The column that rows were matched by; null if they were matched by order. */
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
    /** Pixels that are not identical, and those that differ visibly; null if the sizes differ. */
    differing_pixels: z.int().nullable(),
    visible_pixels: z.int().nullable(),
    /** `differing_pixels` as a share of all pixels, 0 to 1. */
    share: z.number().nullable(),
  }),
  size: z.strictObject({ from: size, to: size }),
  /** The smallest rectangle with every differing pixel, from the upper left corner; null if none differs or sizes do. */
  box: size.extend({ x: z.int(), y: z.int() }).nullable(),
  region: size.extend({ x: z.int(), y: z.int() }).optional().meta({
    description:
      'The watched region, if it is in both pictures: then only it is compared, and `size` and `box` are within it.',
  }),
};
export type ImageParts = {
  region?: z.output<typeof imageParts.region>;
  summary: z.output<typeof imageParts.summary>;
  size: z.output<typeof imageParts.size>;
  box: z.output<typeof imageParts.box>;
};

const byteParts = {
  summary: z.strictObject({
    /** The size of the newer version minus that of the older one, in bytes. */
    length_change: z.int(),
    /** Offset, counted from 0; null if there is none. */
    first_difference: z.int().nullable(),
  }),
  /** A few bytes around the first difference in hex, from `offset` on; null if there is no difference. */
  around: z.strictObject({ offset: z.int(), from: z.string(), to: z.string() }).nullable(),
};
export type ByteParts = {
  summary: z.output<typeof byteParts.summary>;
  around: z.output<typeof byteParts.around>;
};

/** The diffs of all kinds, with the fields of whatever was compared. */
function diffOf<const Name extends string, Fields extends z.ZodRawShape>(name: Name, fields: Fields) {
  const words = <const Kind extends string>(kind: Kind) =>
    z.strictObject({ kind: z.literal(kind), ...shared, ...fields, ...wordParts });
  return z.discriminatedUnion('kind', [
    words('text').meta({ id: `Text${name}` }),
    words('html').meta({ id: `Html${name}` }),
    words('xml').meta({ id: `Xml${name}` }),
    words('pdf').meta({ id: `Pdf${name}` }),
    z
      .strictObject({ kind: z.literal('json'), ...shared, ...fields, ...jsonParts })
      .meta({ id: `Json${name}` }),
    z
      .strictObject({ kind: z.literal('csv'), ...shared, ...fields, ...tableParts })
      .meta({ id: `Csv${name}` }),
    z
      .strictObject({ kind: z.literal('image'), ...shared, ...fields, ...imageParts })
      .meta({ id: `Image${name}` }),
    z
      .strictObject({ kind: z.literal('bytes'), ...shared, ...fields, ...byteParts })
      .meta({ id: `Bytes${name}` }),
  ]);
}

/** The differences between the two versions of one event, by kind of object. */
export const diffSchema = diffOf('Diff', ofEvent).meta({ id: 'Diff' });
export type Diff = z.output<typeof diffSchema>;
export type DiffSide = z.output<typeof side>;

export const compareObjectsQuery = z.strictObject({ from: digestSchema, to: digestSchema });

/** The differences between two files of packs, or two objects. */
export const fileDiffSchema = diffOf('FileDiff', {}).meta({ id: 'FileDiff' });
export type FileDiff = z.output<typeof fileDiffSchema>;

/** The differences between two versions of anything. */
export type AnyDiff = Diff | FileDiff;

/** The result of a comparison: a diff without its event, sides, tool and time. */
export type Comparison = (
  | ({ kind: 'text' | 'html' | 'xml' | 'pdf' } & WordParts)
  | ({ kind: 'json' } & JsonParts)
  | ({ kind: 'csv' } & TableParts)
  | ({ kind: 'image' } & ImageParts)
  | ({ kind: 'bytes' } & ByteParts)
) &
  Pick<Diff, 'truncated' | 'reason' | 'noise'>;

export const newNoisePreviewSchema = namedObject('NewNoisePreview', {
  watch: watchSchema.nullable().default(null),
  rules: noiseRulesSchema.default([]),
  /** The number of one change of the source whose diff is wanted with this watched part and these rules. */
  event: z.int().min(1).optional(),
});
export type NewNoisePreview = z.output<typeof newNoisePreviewSchema>;

export const noisePreviewSchema = namedObject('NoisePreview', {
  /** The number of changes of the source. */
  total: z.int(),
  /** What of the newest version is compared; null if there is no version, or `event` was given. */
  newest: z
    .strictObject({
      watch: watchOutcomeSchema.nullable(),
      text: z.string().nullable().meta({ description: 'Its beginning as text; null if it has none.' }),
    })
    .nullable(),
  /** The findings for the newest changes, newest first, or for the requested one. */
  events: z.array(
    z.strictObject({
      event: z.int(),
      observed_at: instantSchema,
      /** Null if the versions cannot be read; `problem` states why. */
      noise: noiseFindingsSchema.nullable(),
      problem: z.string().nullable(),
    }),
  ),
  /** The diff of the requested event; null if none was requested. */
  diff: diffSchema.nullable(),
});
export type NoisePreview = z.output<typeof noisePreviewSchema>;

/** The result of the job that applies the rules to past changes. */
export interface NoiseRun {
  /** Changes examined. */
  events: number;
  noise: number;
  /** Changes for which a rule exceeded its time limit. */
  timed_out: number;
  /** Changes whose versions could not be read. */
  unreadable: number;
}
