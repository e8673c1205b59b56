import { load } from 'cheerio/slim';
import { JSONPathEnvironment, type JSONPathQuery } from 'json-p3';
import type { NoiseRule } from '../../../shared/noise.ts';

/**
 * A regular expression that finds every match and takes each line for one. It is read strictly (`u`); one that is no
 * regular expression then, but was one before there was that flag, is taken as it was meant.
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

/** `..` goes as deep as JSON that is compared by its values may be nested. */
const environment = new JSONPathEnvironment({ maxRecursionDepth: 600 });

/** A JSONPath query (RFC 9535). @throws an Error that says where it goes wrong. */
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

/** Whether a rule's value is of its kind. */
export function canCompile({ kind, value }: NoiseRule): boolean {
  try {
    COMPILERS[kind](value);
    return true;
  } catch {
    // Each library throws errors of its own; all mean that the value cannot be read.
    return false;
  }
}
