/** Part of ECMAScript 2026; available in Node, missing in TypeScript's libraries. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};

/** Returns whether this is a number kept as text because a double cannot hold its digits. */
export function isRawJson(value: object): boolean {
  return isRawJSON(value);
}

/** Values nested deeper than this are not compared; far below the limit of the stack. */
const MAX_DEPTH = 500;

/** The text cannot be compared as JSON; the message states why, without a full stop. */
export class UncomparableJsonError extends Error {}

/**
 * Parses JSON without losing digits: a number with more digits than a double holds keeps its text (`JSON.rawJSON`).
 *
 * @throws UncomparableJsonError
 */
export function parseJson(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) {
    throw new UncomparableJsonError('The JSON is nested too deeply to be compared by its structure');
  }
  try {
    return /\d{16}/.test(text)
      ? JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new UncomparableJsonError('This is not well-formed JSON');
    throw error;
  }
}

/** `source` is the text of a primitive value (ECMAScript 2026, JSON.parse). */
function keepDigits(_name: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  const isExact = context.source.length < 16 || String(value) === context.source;
  return isExact ? value : rawJSON(context.source);
}

const OPENED = 0x7b;
const CLOSED = 0x7d;
const OPENED_LIST = 0x5b;
const CLOSED_LIST = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the maximum nesting depth of the text without recursion. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPENED || code === OPENED_LIST) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === CLOSED || code === CLOSED_LIST) depth -= 1;
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
