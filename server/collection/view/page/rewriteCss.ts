import { type CSSToken, TokenType, tokenize } from '@csstools/css-tokenizer';

/** What a rewritten stylesheet refers to. */
interface CssReferences {
  /** Returns the `data:` URL to use instead of the address of an image or font, or undefined if there is none. */
  asset(address: string): string | undefined;
  /** Returns the rewritten text of an imported stylesheet, or undefined if there is none. */
  sheet(address: string): string | undefined;
}

/** Loads nothing, in an image and in a font. */
const NOTHING = 'data:,';
/** Functions in which a string is the address of an image (CSS Images Level 4). */
const TAKES_ADDRESSES: ReadonlySet<string> = new Set([
  'image-set',
  '-webkit-image-set',
  'image',
  'cross-fade',
  '-webkit-cross-fade',
]);
/** Functions that a browser replaces by a value from elsewhere, which may be the string of an address. */
const SUBSTITUTED = /^(--.*|attr|env|first-valid|if|ident|inherit|random-item|toggle|var)$/;
const CLOSERS = { '(': ')', '[': ']', '{': '}' } as const;

/**
 * Rewrites every address of a stylesheet or of a `style` attribute, and replaces `@import` by the imported rules. The text
 * is tokenized like in a browser (CSS Syntax Level 3); all other tokens stay as they are. The result closes what it
 * opens, so that it can be put into a block.
 */
export function rewriteCss(css: string, references: CssReferences): string {
  const rewriting = new Rewriting(tokenize({ css }), references);
  // Nothing in it looks like a tag, whatever element contains it.
  return rewriting.run().replace(/<(?=[a-z/!?])/gi, '< ');
}

interface Open {
  closer: string;
  /** The name of the function, or an empty string. */
  name: string;
}

class Rewriting {
  readonly #tokens: readonly CSSToken[];
  readonly #references: CssReferences;
  readonly #written: string[] = [];
  readonly #open: Open[] = [];
  #at = 0;

  constructor(tokens: readonly CSSToken[], references: CssReferences) {
    this.#tokens = tokens;
    this.#references = references;
  }

  run(): string {
    for (let token = this.#next(); token; token = this.#next()) this.#rewrite(token);
    return (
      this.#written.join('') +
      this.#open
        .map(({ closer }) => closer)
        .reverse()
        .join('')
    );
  }

  #next(): CSSToken | undefined {
    return this.#tokens[this.#at++];
  }

  #rewrite(token: CSSToken): void {
    const [type, text] = token;
    switch (type) {
      case TokenType.AtKeyword:
        return this.#atRule(token[4].value.toLowerCase(), text);
      case TokenType.Function:
        return this.#function(token[4].value.toLowerCase(), text);
      case TokenType.URL:
        return this.#write(this.#url(token[4].value));
      case TokenType.String:
        return this.#write(
          this.#takesAddresses && this.#open.at(-1)?.name !== 'type'
            ? this.#url(token[4].value)
            : quoted(token[4].value),
        );
      case TokenType.OpenParen:
      case TokenType.OpenSquare:
      case TokenType.OpenCurly:
        this.#open.push({ closer: CLOSERS[text as keyof typeof CLOSERS], name: '' });
        return this.#write(text);
      case TokenType.CloseParen:
      case TokenType.CloseSquare:
      case TokenType.CloseCurly:
        return this.#close(text);
      case TokenType.Comment:
        return this.#write('/**/');
      case TokenType.BadString:
      case TokenType.BadURL:
      case TokenType.CDO:
      case TokenType.CDC:
        // Without the space, its neighbours could become one token.
        return this.#write(' ');
      case TokenType.EOF:
        return undefined;
      default:
        return this.#write(text);
    }
  }

  get #takesAddresses(): boolean {
    return this.#open.some(({ name }) => TAKES_ADDRESSES.has(name));
  }

  #write(text: string): void {
    this.#written.push(text);
  }

  /** Writes a closing bracket with the brackets that it closes implicitly. One that closes nothing is left out. */
  #close(closer: string): void {
    if (!this.#open.some((open) => open.closer === closer)) return;
    for (let open = this.#open.pop(); open; open = this.#open.pop()) {
      this.#write(open.closer);
      if (open.closer === closer) return;
    }
  }

  #function(name: string, text: string): void {
    if (name === 'url' || name === 'src') {
      const address = this.#argument();
      return this.#write(address === undefined ? quoted('') : this.#url(address));
    }
    if (SUBSTITUTED.test(name) && this.#takesAddresses) {
      this.#argument();
      return this.#write(`url(${quoted(NOTHING)})`);
    }
    this.#open.push({ closer: ')', name });
    this.#write(text);
  }

  /** Reads the rest of a function up to its closing bracket, and returns its first string. */
  #argument(): string | undefined {
    let address: string | undefined;
    let depth = 1;
    for (let token = this.#next(); token; token = this.#next()) {
      const [type] = token;
      if (type === TokenType.String) address ??= token[4].value;
      if (type === TokenType.Function || type === TokenType.OpenParen) depth += 1;
      if (type === TokenType.CloseParen) depth -= 1;
      if (depth === 0) break;
    }
    return address;
  }

  #url(address: string): string {
    // A fragment names an element of the page, such as a gradient.
    if (address.startsWith('#')) return `url(${quoted(address)})`;
    return `url(${quoted(this.#references.asset(address) ?? NOTHING)})`;
  }

  #atRule(name: string, text: string): void {
    if (name === 'charset') return void this.#prelude();
    // The address of a namespace is a name; nothing is loaded from it.
    if (name === 'namespace') return this.#write(`${text}${textOf(this.#prelude())};`);
    if (name !== 'import') return this.#write(text);
    const imported = this.#prelude();
    const { address, rest } = importOf(imported);
    if (address === undefined || this.#open.length > 0) return;
    const sheet = this.#references.sheet(address);
    if (sheet !== undefined) this.#write(within(rest, sheet));
  }

  /** Reads the tokens of a rule up to its semicolon. A block does not belong to them. */
  #prelude(): CSSToken[] {
    const start = this.#at;
    for (let token = this.#next(); token; token = this.#next()) {
      if (token[0] === TokenType.Semicolon) return this.#tokens.slice(start, this.#at - 1);
      if (token[0] !== TokenType.OpenCurly && token[0] !== TokenType.CloseCurly) continue;
      this.#at -= 1;
      break;
    }
    return this.#tokens.slice(start, this.#at);
  }
}

/** Returns the address of an `@import` and the tokens of its conditions. */
function importOf(tokens: readonly CSSToken[]): { address: string | undefined; rest: CSSToken[] } {
  const kept = tokens.filter(([type]) => type !== TokenType.Comment && type !== TokenType.EOF);
  const start = kept.findIndex(([type]) => type !== TokenType.Whitespace);
  const token = kept[start];
  if (token === undefined) return { address: undefined, rest: [] };
  if (token[0] === TokenType.String || token[0] === TokenType.URL)
    return { address: token[4].value, rest: kept.slice(start + 1) };
  if (token[0] !== TokenType.Function || token[4].value.toLowerCase() !== 'url')
    return { address: undefined, rest: [] };
  const end = endOfFunction(kept, start);
  const argument = kept.slice(start, end).find((one) => one[0] === TokenType.String);
  return { address: argument?.[4].value, rest: kept.slice(end) };
}

/** Returns the index after the closing bracket of the function at `start`. */
function endOfFunction(tokens: readonly CSSToken[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    const type = tokens[at]?.[0];
    if (type === TokenType.Function || type === TokenType.OpenParen) depth += 1;
    if (type === TokenType.CloseParen) depth -= 1;
    if (depth <= 0) return at + 1;
  }
  return tokens.length;
}

/** Puts an imported stylesheet into blocks for the layer, the support condition and the media of its `@import`. */
function within(rest: readonly CSSToken[], sheet: string): string {
  const blocks: string[] = [];
  let at = 0;
  const skipSpace = () => {
    while (rest[at]?.[0] === TokenType.Whitespace) at += 1;
  };
  for (const name of ['layer', 'supports']) {
    skipSpace();
    const token = rest[at];
    if (token?.[0] === TokenType.Function && token[4].value.toLowerCase() === name) {
      const end = endOfFunction(rest, at);
      const argument = textOf(rest.slice(at + 1, end - 1));
      blocks.push(name === 'layer' ? `@layer ${argument}` : `@supports (${argument})`);
      at = end;
    } else if (name === 'layer' && token?.[0] === TokenType.Ident && token[4].value.toLowerCase() === name) {
      blocks.push('@layer');
      at += 1;
    }
  }
  const media = textOf(rest.slice(at)).trim();
  if (media !== '') blocks.push(`@media ${media}`);
  return blocks.reduceRight((inner, block) => `${block}{${inner}}`, `${sheet}\n`);
}

/** Returns tokens as text, without those that could load or open something. */
function textOf(tokens: readonly CSSToken[]): string {
  const LEFT_OUT: readonly TokenType[] = [
    TokenType.BadString,
    TokenType.BadURL,
    TokenType.EOF,
    TokenType.Comment,
  ];
  return tokens
    .map((token) => {
      if (LEFT_OUT.includes(token[0])) return ' ';
      return token[0] === TokenType.String ? quoted(token[4].value) : token[1];
    })
    .join('');
}

/** Returns a CSS string. */
function quoted(value: string): string {
  return `"${value.replace(/["\\\n\r\f\0<]/g, (character) => `\\${character.charCodeAt(0).toString(16)} `)}"`;
}
