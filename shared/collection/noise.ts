import { z } from 'zod';
import { text } from '../values/text.ts';

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

/** Names a part of a version. The service checks whether `value` is valid for `kind`. */
export interface Selector {
  kind: NoiseRuleKind;
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

/** The part of a source's versions that is watched. It names a part as a noise rule does, by what it is. */
export const watchSchema = z
  .union(
    [
      z.strictObject({ css: value }),
      z.strictObject({ xpath: value }),
      z.strictObject({ json_path: value }),
      z.strictObject({ heading: value }),
      z.strictObject({ table: z.union([value, z.int().min(1).max(10_000)]), columns: columns.optional() }),
    ],
    { error: 'Name one part: css, xpath, json_path, heading, or table (with columns).' },
  )
  .meta({
    id: 'Watch',
    description:
      'The part that is watched: `css`, `xpath`: elements of HTML and XML; `json_path`: values of JSON; `heading`: a heading of HTML and what follows it; `table`: a table of HTML by its caption, its number from 1 or a CSS selector, or a CSV file, and of it only `columns`, if they are given.',
  });
export type Watch = z.output<typeof watchSchema>;

/** Returns a watched part in the terms of noise rules. */
export function selectorOf(watch: Watch): Selector {
  if ('css' in watch) return { kind: 'selector', value: watch.css };
  if ('xpath' in watch) return { kind: 'xpath', value: watch.xpath };
  if ('json_path' in watch) return { kind: 'json_path', value: watch.json_path };
  if ('heading' in watch) return { kind: 'heading', value: watch.heading };
  const { table, columns: named } = watch;
  return { kind: 'table', value: String(table), ...(named && { columns: named }) };
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
  kind: z.enum(NOISE_RULE_KINDS),
  value: z.string(),
  columns: z.array(z.string()).optional(),
  /** `not_applicable` if selectors of this kind do not apply to this kind of object. */
  outcome: z.enum(OUTCOMES),
};

const ruleOutcomeSchema = z
  .strictObject({
    ...applied,
    note: z.string(),
    /** The number of parts that the rule removed from the older and from the newer version. */
    ignored: counts,
  })
  .meta({ id: 'NoiseRuleOutcome' });
export type RuleOutcome = z.output<typeof ruleOutcomeSchema>;

export const watchOutcomeSchema = z
  .strictObject({
    ...applied,
    /** The number of parts that the selector matched in the older and in the newer version. */
    found: counts,
  })
  .meta({ id: 'WatchOutcome' });
export type WatchOutcome = z.output<typeof watchOutcomeSchema>;

export const noiseFindingsSchema = z
  .strictObject({
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
  })
  .meta({ id: 'NoiseFindings' });
export type NoiseFindings = z.output<typeof noiseFindingsSchema>;
