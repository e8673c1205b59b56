import { z } from 'zod';
import { text } from './text.ts';

export const NOISE_RULE_KINDS = ['selector', 'pattern', 'json_path'] as const;
export type NoiseRuleKind = (typeof NOISE_RULE_KINDS)[number];

export const MAX_NOISE_RULES = 50;

/** What of a source's versions is no news: whether the value is of its kind is looked at by the service. */
export const noiseRuleSchema = z
  .strictObject({
    /** A CSS selector for HTML and XML; a JavaScript regular expression for text; a JSONPath (RFC 9535) for JSON. */
    kind: z.enum(NOISE_RULE_KINDS),
    value: text(1, 1_000),
    note: text(0, 500).default(''),
  })
  .meta({ id: 'NoiseRule' });
export type NoiseRule = z.output<typeof noiseRuleSchema>;

export const noiseRulesSchema = z
  .array(noiseRuleSchema)
  .max(MAX_NOISE_RULES, `At most ${MAX_NOISE_RULES} rules.`);

/** What became of a rule when it was applied to two versions. */
export const RULE_OUTCOMES = ['applied', 'not_applicable', 'timed_out', 'failed'] as const;

export const ruleOutcomeSchema = z
  .strictObject({
    kind: z.enum(NOISE_RULE_KINDS),
    value: z.string(),
    note: z.string(),
    /** `not_applicable` where a rule of this kind has nothing to do with this kind of object. */
    outcome: z.enum(RULE_OUTCOMES),
    /** How many pieces it left out of the older and of the newer version. */
    ignored: z.strictObject({ from: z.int(), to: z.int() }),
  })
  .meta({ id: 'NoiseRuleOutcome' });
export type RuleOutcome = z.output<typeof ruleOutcomeSchema>;

export const noiseFindingsSchema = z
  .strictObject({
    rules: z.array(ruleOutcomeSchema),
    /** Whether the rules leave out all that changed; null where there is no rule. */
    is_noise: z.boolean().nullable(),
    /** How many pieces were left out of both versions together. */
    ignored: z.int(),
  })
  .meta({ id: 'NoiseFindings' });
export type NoiseFindings = z.output<typeof noiseFindingsSchema>;
