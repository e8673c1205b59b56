import {
  type NoiseRule,
  type NoiseRuleKind,
  noiseRulesSchema,
} from '../../../../../shared/collection/noise.ts';
import { ApiProblem } from '../../../api/client.ts';

/** A rule being typed, with a stable key for its row. */
export interface TypedRule extends NoiseRule {
  key: string;
}

/** Error messages by the rule's position. */
export type NoiseErrors = Readonly<Record<number, { value?: string; note?: string } | undefined>>;

export const RULE_KINDS: Record<NoiseRuleKind, { label: string; example: string }> = {
  selector: { label: 'CSS selector', example: '.visitor-counter' },
  pattern: { label: 'Pattern', example: 'Generated at \\d\\d:\\d\\d' },
  json_path: { label: 'JSON path', example: '$.meta.generated_at' },
};

/** Browsers offer `crypto.randomUUID` to pages over HTTPS and on loopback only. */
function rowKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-');
}

export function typedRules(rules: readonly NoiseRule[]): TypedRule[] {
  return rules.map((rule) => ({ ...rule, key: rowKey() }));
}

export function emptyRule(): TypedRule {
  return { kind: 'selector', value: '', note: '', key: rowKey() };
}

/** Validates the rules with the node's schema. */
export function rulesOf(typed: readonly TypedRule[]): { value: NoiseRule[] } | { errors: NoiseErrors } {
  const plain = typed.map(({ kind, value, note }) => ({ kind, value: value.trim(), note: note.trim() }));
  const parsed = noiseRulesSchema.safeParse(plain);
  if (parsed.success) return { value: parsed.data };
  return {
    errors: byRule(
      parsed.error.issues.map(({ path, message }) => [
        path.map(String),
        plain[Number(path[0])]?.value === '' ? 'Enter a value, or remove the rule.' : message,
      ]),
    ),
  };
}

/** The node's errors for rules, by their position in `member` of the request. */
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
