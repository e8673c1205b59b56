import { z } from 'zod';
import { text } from '../values/text.ts';

export const NOISE_RULE_KINDS = ['selector', 'pattern', 'json_path'] as const;
export type NoiseRuleKind = (typeof NOISE_RULE_KINDS)[number];

export const MAX_NOISE_RULES = 50;

/** A part of a source's versions whose changes are ignored. The service checks whether `value` is valid for `kind`. */
const noiseRuleSchema = z
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

/** The outcome of applying a rule to two versions. */
const RULE_OUTCOMES = ['applied', 'not_applicable', 'timed_out', 'failed'] as const;

const ruleOutcomeSchema = z
  .strictObject({
    kind: z.enum(NOISE_RULE_KINDS),
    value: z.string(),
    note: z.string(),
    /** `not_applicable` if rules of this kind do not apply to this kind of object. */
    outcome: z.enum(RULE_OUTCOMES),
    /** The number of parts that the rule removed from the older and from the newer version. */
    ignored: z.strictObject({ from: z.int(), to: z.int() }),
  })
  .meta({ id: 'NoiseRuleOutcome' });
export type RuleOutcome = z.output<typeof ruleOutcomeSchema>;

export const noiseFindingsSchema = z
  .strictObject({
    rules: z.array(ruleOutcomeSchema),
    /** Whether the rules explain every change; null if there is no rule. */
    is_noise: z.boolean().nullable(),
    /** The number of parts removed from both versions together. */
    ignored: z.int(),
  })
  .meta({ id: 'NoiseFindings' });
export type NoiseFindings = z.output<typeof noiseFindingsSchema>;
