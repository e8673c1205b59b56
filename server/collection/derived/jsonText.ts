import { createScanner } from 'jsonc-parser';
import type { Found } from './extractedText.ts';
import { MAX_MARKUP_CHARACTERS, MAX_TEXT_CHARACTERS } from './limits.ts';

/** Deeper levels are not indented further: else a document of brackets alone would grow with its square. */
const MOST_INDENTED = 32;

/**
 * JSON as it came, a value in each line and indented: names in their order, numbers and strings letter by letter as they
 * were written, which no reading and writing anew would keep. What is no JSON is shown as it is.
 */
export function jsonText(json: string): Found {
  const parts: string[] = [];
  let characters = 0;
  let depth = 0;
  let last = '';
  const put = (part: string) => {
    parts.push(part);
    characters += part.length;
  };
  for (const token of tokensOf(json.slice(0, MAX_MARKUP_CHARACTERS))) {
    if (characters > MAX_TEXT_CHARACTERS) return { title: null, text: parts.join(''), truncated: true };
    const closes = token === '}' || token === ']';
    if (closes) depth = Math.max(0, depth - 1);
    if (last === ':') put(' ');
    else if (last !== '' && token !== ',' && token !== ':' && !(closes && opens(last)))
      put(`\n${'  '.repeat(Math.min(depth, MOST_INDENTED))}`);
    put(token);
    if (opens(token)) depth += 1;
    last = token;
  }
  return { title: null, text: parts.join(''), truncated: json.length > MAX_MARKUP_CHARACTERS };
}

function opens(token: string): boolean {
  return token === '{' || token === '[';
}

/** The tokens as they are written, without the white space between them. */
function* tokensOf(json: string): Generator<string> {
  const scanner = createScanner(json, false);
  for (;;) {
    scanner.scan();
    const token = json.slice(scanner.getTokenOffset(), scanner.getPosition());
    if (token === '') return;
    if (token.trim() !== '') yield token;
  }
}
