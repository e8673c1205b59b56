import { type NoiseRule, type NoiseRuleKind, noiseRulesSchema } from '../../../../../shared/noise.ts';
import { ApiProblem } from '../../../api/client.ts';

/** A rule as it is typed, with a key that keeps its place on the screen when others go. */
export interface TypedRule extends NoiseRule {
  key: string;
}

/** What is wrong with a rule, by the place of the rule. */
export type NoiseErrors = Readonly<Record<number, { value?: string; note?: string } | undefined>>;

export const RULE_KINDS: Record<NoiseRuleKind, { word: string; example: string }> = {
  selector: { word: 'CSS selector', example: '.visitor-counter' },
  pattern: { word: 'Pattern', example: 'Generated at \\d\\d:\\d\\d' },
  json_path: { word: 'JSON path', example: '$.meta.generated_at' },
};

export function typedRules(rules: readonly NoiseRule[]): TypedRule[] {
  return rules.map((rule) => ({ ...rule, key: crypto.randomUUID() }));
}

export function emptyRule(): TypedRule {
  return { kind: 'selector', value: '', note: '', key: crypto.randomUUID() };
}

/** The rules as the node takes them, or what is wrong with them by its schema. */
export function rulesOf(typed: readonly TypedRule[]): { value: NoiseRule[] } | { errors: NoiseErrors } {
  const plain = typed.map(({ kind, value, note }) => ({ kind, value: value.trim(), note: note.trim() }));
  const parsed = noiseRulesSchema.safeParse(plain);
  if (parsed.success) return { value: parsed.data };
  return {
    errors: byRule(
      parsed.error.issues.map(({ path, message }) => [
        path.map(String),
        plain[Number(path[0])]?.value === '' ? 'Say what the rule names, or take it out.' : message,
      ]),
    ),
  };
}

/** What the node found wrong with rules, where they stand in what was sent under `member`. */
export function ruleErrorsOf(error: unknown, member: 'rules' | 'noise_rules'): NoiseErrors {
  if (!(error instanceof ApiProblem)) return {};
  return byRule(
    (error.document.errors ?? [])
      .map(({ path, message }) => [path.split('/').slice(1), message] as const)
      .filter(([[first]]) => first === member)
      .map(([[, ...path], message]) => [path, message]),
  );
}

function byRule(faults: readonly (readonly [path: string[], message: string])[]): NoiseErrors {
  const errors: Record<number, { value?: string; note?: string }> = {};
  for (const [[index = '', field], message] of faults) {
    const named = field === 'note' ? 'note' : 'value';
    errors[Number(index)] = { [named]: message, ...errors[Number(index)] };
  }
  return errors;
}
