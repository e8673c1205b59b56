/** Of ECMAScript 2026, which Node has and the compiler's libraries have not. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};

/** Whether this is a number whose digits a double cannot hold, kept by its text. */
export function isRawJson(value: object): boolean {
  return isRawJSON(value);
}

/** Values nested deeper than this are not walked; it is far below what the stack holds. */
const MAX_DEPTH = 500;

/** The text is no JSON that can be compared by its structure; the message says why. */
export class UncomparableJsonError extends Error {}

/**
 * Parses JSON so that nothing of it is lost that a comparison would show: a number with more digits than a double holds
 * keeps its text (`JSON.rawJSON`).
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

/** `source` is what stands in the text for a value that is no object and no list (ECMAScript 2026, JSON.parse). */
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

/** How deeply the text is nested at most, found without recursion. */
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
