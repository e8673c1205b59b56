import type { NoiseRule } from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';

const SENTENCES: Record<NoiseRule['kind'], string> = {
  selector: 'This is not a CSS selector.',
  pattern: 'This is not a JavaScript regular expression.',
  json_path: 'This is not a JSONPath (RFC 9535), such as $.meta.generated_at.',
};

/**
 * Requires the value of every rule to be valid for its kind.
 *
 * @param path JSON Pointer to the list of rules in the request body
 * @throws Problem `invalid_field` with a pointer to each invalid value.
 */
export async function requireValidRules(rules: readonly NoiseRule[], path: string): Promise<void> {
  if (rules.length === 0) return;
  // Loaded with the first rule, because the parsers are large.
  const { canCompile } = await import('./compileRule.ts');
  const errors = rules.flatMap((rule, index) =>
    canCompile(rule) ? [] : [{ path: `${path}/${index}/value`, message: SENTENCES[rule.kind] }],
  );
  const [first] = errors;
  if (first) throw new Problem('invalid_field', `${first.path}: ${first.message}`, { errors });
}
