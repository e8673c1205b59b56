import { createScanner } from 'jsonc-parser';
import { MAX_MARKUP_CHARACTERS, MAX_TEXT_CHARACTERS } from '../limits.ts';
import type { Extraction } from './extractedText.ts';

/** Deeper levels are not indented further, or a document of brackets alone would grow quadratically. */
const MAX_INDENT = 32;

/**
 * Indents JSON with one value per line. Works on tokens instead of parsing, so that the order of names and the spelling
 * of numbers and strings are kept. Input that is not JSON keeps its tokens.
 */
export function jsonText(json: string): Extraction {
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
      put(`\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`);
    put(token);
    if (opens(token)) depth += 1;
    last = token;
  }
  return { title: null, text: parts.join(''), truncated: json.length > MAX_MARKUP_CHARACTERS };
}

function opens(token: string): boolean {
  return token === '{' || token === '[';
}

/** Yields the tokens as written, without the white space between them. */
function* tokensOf(json: string): Generator<string> {
  const scanner = createScanner(json, false);
  for (;;) {
    scanner.scan();
    const token = json.slice(scanner.getTokenOffset(), scanner.getPosition());
    if (token === '') return;
    if (token.trim() !== '') yield token;
  }
}
