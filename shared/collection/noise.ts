import { z } from 'zod';
import { namedObject } from '../values/list.ts';
import { text } from '../values/text.ts';
import {
  type CHOOSER_MOVES,
  MAX_CANDIDATES,
  MAX_COMPARED_TEXT,
  MAX_SHOWN_NAME,
  MAX_SHOWN_TEXT,
} from './chooserLimits.ts';

/** How a part of a version is named. `pattern` names no place, so it can be ignored, but not watched. */
export const NOISE_RULE_KINDS = ['selector', 'xpath', 'json_path', 'heading', 'table', 'pattern'] as const;
export type NoiseRuleKind = (typeof NOISE_RULE_KINDS)[number];

export const MAX_NOISE_RULES = 50;
const MAX_COLUMNS = 50;

const value = text(1, 1_000);
const columns = z
  .array(text(1, 200))
  .min(1, 'Name at least one column, or leave this out.')
  .max(MAX_COLUMNS, `At most ${MAX_COLUMNS} columns.`);

/** The kinds of a watched part. A region is a place in the picture of a page, so it can be watched, but not ignored. */
const SELECTOR_KINDS = [...NOISE_RULE_KINDS, 'region'] as const;

/** Names a part of a version. The service checks whether `value` is valid for `kind`. */
export interface Selector {
  kind: (typeof SELECTOR_KINDS)[number];
  value: string;
  /** Only some columns of a table. */
  columns?: string[] | undefined;
}

/** A part of a source's versions whose changes are ignored. */
const noiseRuleSchema = z
  .strictObject({
    kind: z.enum(NOISE_RULE_KINDS).meta({
      description:
        '`selector`: a CSS selector for HTML and XML; `xpath`: an XPath for HTML and XML; `json_path`: a JSONPath (RFC 9535) for JSON; `heading`: the words of a heading of HTML, for it and what follows it; `table`: the caption or the number of a table of HTML, or any value for CSV; `pattern`: a JavaScript regular expression for text.',
    }),
    value,
    columns: columns.optional().meta({ description: 'Only for `table`: the names of columns.' }),
    note: text(0, 500).default(''),
  })
  .refine(({ kind, columns }) => kind === 'table' || columns === undefined, {
    path: ['columns'],
    message: 'Only a table has columns.',
  })
  .meta({ id: 'NoiseRule' });
export type NoiseRule = z.output<typeof noiseRuleSchema>;

export const noiseRulesSchema = z
  .array(noiseRuleSchema)
  .max(MAX_NOISE_RULES, `At most ${MAX_NOISE_RULES} rules.`);

/** The largest picture of a page, in pixels. What is wider or higher is cut off. */
export const MAX_PICTURE_WIDTH = 4_000;
export const MAX_PICTURE_HEIGHT = 20_000;

const place = (most: number) => z.int().min(0, 'At least 0.').max(most, `At most ${most}.`);
const extent = (most: number) => z.int().min(1, 'At least 1.').max(most, `At most ${most}.`);

const pictureRegionSchema = z
  .strictObject({
    x: place(MAX_PICTURE_WIDTH - 1),
    y: place(MAX_PICTURE_HEIGHT - 1),
    width: extent(MAX_PICTURE_WIDTH),
    height: extent(MAX_PICTURE_HEIGHT),
  })
  .refine(({ x, width }) => x + width <= MAX_PICTURE_WIDTH, {
    path: ['width'],
    message: `No picture is wider than ${MAX_PICTURE_WIDTH} pixels.`,
  })
  .refine(({ y, height }) => y + height <= MAX_PICTURE_HEIGHT, {
    path: ['height'],
    message: `No picture is higher than ${MAX_PICTURE_HEIGHT} pixels.`,
  })
  .meta({ id: 'PictureRegion', description: 'In pixels of the picture, from its upper left corner.' });
export type PictureRegion = z.output<typeof pictureRegionSchema>;

/** The part of a source's versions that is watched. It names a part as a noise rule does, by what it is. */
export const watchSchema = z
  .union(
    [
      z.strictObject({ css: value }),
      z.strictObject({ xpath: value }),
      z.strictObject({ json_path: value }),
      z.strictObject({ heading: value }),
      z.strictObject({ table: z.union([value, z.int().min(1).max(10_000)]), columns: columns.optional() }),
      z.strictObject({ region: pictureRegionSchema }),
    ],
    { error: 'Name one part: css, xpath, json_path, heading, table (with columns), or region.' },
  )
  .meta({
    id: 'Watch',
    description:
      'The part that is watched: `css`, `xpath`: elements of HTML and XML; `json_path`: values of JSON; `heading`: a heading of HTML and what follows it; `table`: a table of HTML by its caption, its number from 1 or a CSS selector, or a CSV file, and of it only `columns`, if they are given; `region`: a rectangle of the picture of a page, only if `capture` is `page`.',
  });
export type Watch = z.output<typeof watchSchema>;

/** Returns a watched part in the terms of noise rules. */
export function selectorOf(watch: Watch): Selector {
  if ('css' in watch) return { kind: 'selector', value: watch.css };
  if ('xpath' in watch) return { kind: 'xpath', value: watch.xpath };
  if ('json_path' in watch) return { kind: 'json_path', value: watch.json_path };
  if ('heading' in watch) return { kind: 'heading', value: watch.heading };
  if ('region' in watch) return { kind: 'region', value: regionText(watch.region) };
  const { table, columns: named } = watch;
  return { kind: 'table', value: String(table), ...(named && { columns: named }) };
}

/** `300 × 40 at 10, 20`. */
export function regionText({ x, y, width, height }: PictureRegion): string {
  return `${width} × ${height} at ${x}, ${y}`;
}

/** The watched part in words: `Heading “Fees”`. */
export function watchWords(watch: Watch): string {
  const { value, columns } = selectorOf(watch);
  if ('region' in watch) return `Region of the picture: ${value}`;
  if ('heading' in watch) return `Heading “${value}”`;
  if (!('table' in watch)) return value;
  const table = /^\d+$/.test(value) ? `Table ${value}` : `Table “${value}”`;
  return `${table}${columns ? `: ${columns.join(', ')}` : ''}`;
}

/** Returns the watched region of a picture; undefined if something else is watched. */
export function watchedRegion(watch: Watch | null): PictureRegion | undefined {
  return watch && 'region' in watch ? watch.region : undefined;
}

/** What of a source's versions is compared: the watched part, or everything, without what the rules ignore. */
export interface Scope {
  watch: Watch | null;
  rules: readonly NoiseRule[];
  /** Whether the part may only be in something else, such as the drawn page: what does not have it, is outside then. */
  elsewhere?: boolean;
}

export const EVERYTHING: Scope = { watch: null, rules: [] };

/** The outcome of applying a selector to two versions. */
const OUTCOMES = ['applied', 'not_applicable', 'timed_out', 'failed'] as const;

const counts = z.strictObject({ from: z.int(), to: z.int() });
const applied = {
  value: z.string(),
  columns: z.array(z.string()).optional(),
  /** `not_applicable` if selectors of this kind do not apply to this kind of object. */
  outcome: z.enum(OUTCOMES),
};

const ruleOutcomeSchema = namedObject('NoiseRuleOutcome', {
  kind: z.enum(NOISE_RULE_KINDS),
  ...applied,
  note: z.string(),
  /** The number of parts that the rule removed from the older and from the newer version. */
  ignored: counts,
});
export type RuleOutcome = z.output<typeof ruleOutcomeSchema>;

export const watchOutcomeSchema = namedObject('WatchOutcome', {
  kind: z.enum(SELECTOR_KINDS),
  ...applied,
  /** The number of parts that the selector matched in the older and in the newer version. */
  found: counts,
});
export type WatchOutcome = z.output<typeof watchOutcomeSchema>;

export const noiseFindingsSchema = namedObject('NoiseFindings', {
  rules: z.array(ruleOutcomeSchema),
  watch: watchOutcomeSchema.nullable().meta({
    description:
      'What became of the watched part; null if everything is watched. If it is in neither version, everything is compared.',
  }),
  /** Whether nothing changed in the watched part. */
  outside: z.boolean(),
  /** Whether the rules and the watched part leave nothing of the change; null if there is neither. */
  is_noise: z.boolean().nullable(),
  /** The number of parts removed from both versions together. */
  ignored: z.int(),
});
export type NoiseFindings = z.output<typeof noiseFindingsSchema>;

/** An element that a person chose in the archived page, and ways to name it. */
export const chosenElementSchema = namedObject('ChosenElement', {
  candidates: z.array(watchSchema).min(1).max(MAX_CANDIDATES).meta({
    description: 'Ways to name the element, the best one first.',
  }),
  text: z.string().max(MAX_COMPARED_TEXT).meta({
    description: 'The beginning of its text, without white space.',
  }),
});
export type ChosenElement = z.output<typeof chosenElementSchema>;

export const watchChoicesSchema = z
  .strictObject({
    choices: z.array(
      z.strictObject({
        watch: watchSchema,
        /** The number of parts that it names in the newest version. */
        parts: z.int().min(1),
        text: z.string().meta({ description: 'The beginning of their text.' }),
        same: z.boolean().meta({ description: 'Whether this is the text of the element and nothing else.' }),
      }),
    ),
  })
  .meta({
    id: 'WatchChoices',
    description: 'The ways to name an element that work in the newest version of the source.',
  });
export type WatchChoices = z.output<typeof watchChoicesSchema>;
export type WatchChoice = WatchChoices['choices'][number];

/*
 * What the frame in which a person chooses an element of an archived page, and the window around it, send each other. The
 * frame has an origin of its own, so the window takes what it sends as it would take what an archived page sends.
 */

export type ChooserMove = (typeof CHOOSER_MOVES)[number];

/** Sent to the frame. `choose` chooses what is shown. */
export type ChooserRequest = { chooser: ChooserMove | 'choose' | 'focus' };

const element = {
  /** The name of the element in lower case. */
  name: z.string().max(MAX_SHOWN_NAME),
  id: z.string().max(MAX_SHOWN_NAME),
  excerpt: z.string().max(MAX_SHOWN_TEXT),
};

/**
 * Sent by the frame: that it is ready; which element it shows; which one was chosen; that its keys are left to the window:
 * by Tab, to what comes after it or before it, or by Escape.
 */
export const chooserMessageSchema = z.discriminatedUnion('chooser', [
  z.strictObject({ chooser: z.literal('ready') }),
  z.strictObject({ chooser: z.literal('shown'), ...element, byKey: z.boolean() }),
  z.strictObject({ chooser: z.literal('chosen'), ...element, element: chosenElementSchema }),
  z.strictObject({ chooser: z.literal('left'), to: z.enum(['after', 'before', 'out']) }),
]);
export type ChooserMessage = z.output<typeof chooserMessageSchema>;
