import type { Follow } from '../../../shared/collection/follow.ts';
import { Problem } from '../../../shared/problems.ts';

/** Requires `match` to be a regular expression of RE2's syntax. @throws Problem `invalid_field`. */
export async function requireValidFollow(follow: Follow | null | undefined): Promise<void> {
  if (follow?.match === undefined) return;
  // Loaded with the first expression, because its tables of Unicode are large.
  const { RE2JS, RE2JSException } = await import('re2js');
  try {
    RE2JS.compile(follow.match);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const message = `This is not a regular expression of RE2’s syntax (${error.message.replace(/^error parsing regexp: /, '')}).`;
    throw new Problem('invalid_field', `/follow/match: ${message}`, {
      errors: [{ path: '/follow/match', message }],
    });
  }
}
