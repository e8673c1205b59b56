import { load } from 'cheerio/slim';
import { JSONPathEnvironment, type JSONPathQuery } from 'json-p3';
import type { NoiseRule } from '../../../shared/collection/noise.ts';

/**
 * Compiles a regular expression with the flags `g` and `m`. Uses Unicode mode (`u`), or legacy mode if the pattern is
 * invalid in Unicode mode.
 *
 * @throws SyntaxError
 */
export function compilePattern(value: string): RegExp {
  try {
    return new RegExp(value, 'gmu');
  } catch (error) {
    if (error instanceof SyntaxError) return new RegExp(value, 'gm');
    throw error;
  }
}

/** Deeper than `parseJson` allows JSON to be nested, so that `..` reaches every value. */
const environment = new JSONPathEnvironment({ maxRecursionDepth: 600 });

/** Compiles a JSONPath query (RFC 9535). @throws an Error with the position of the mistake. */
export function compilePath(value: string): JSONPathQuery {
  return environment.compile(value);
}

function compileSelector(value: string): void {
  load('<p></p>').root().find(value);
}

const COMPILERS: Record<NoiseRule['kind'], (value: string) => unknown> = {
  selector: compileSelector,
  pattern: compilePattern,
  json_path: compilePath,
};

/** Returns whether the value of a rule is valid for its kind. */
export function canCompile({ kind, value }: NoiseRule): boolean {
  try {
    COMPILERS[kind](value);
    return true;
  } catch {
    // Each library throws its own errors; all mean that the value is invalid.
    return false;
  }
}
