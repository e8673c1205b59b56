import { ACCENTS, type Command, type Commands, KNOWN, SIGNS, TABLE, VERBATIM } from './latexCommands.ts';

export interface LatexOptions {
  commands?: Commands;
  /** Called with the name of each command that was left out because it is not known. */
  onUnknown?: (name: string) => void;
  /** How many characters the commands that the file defines may still add. Without it, none are used. */
  budget?: { left: number };
  /** Whether the value is an address or a DOI, in which quotes, hyphens and `~` are signs. */
  isVerbatim?: boolean;
}

/** How deeply commands may be in each other: each level is read once more. */
const MAX_DEPTH = 12;

/**
 * Returns a value of BibTeX as plain text: accents and commands that stand for signs or words are read, other commands and braces
 * are left out, and their contents stay. The signs are those of the package `unicode2latex`, which is made for bibliographies.
 */
export function latexText(value: string, options: LatexOptions = {}): string {
  const text = new Conversion(options).read(value, false, 0);
  const plain = withoutMarkup(text).normalize('NFC');
  return options.isVerbatim ? plain.replace(/\s+/g, '') : plain.replace(/\s+/g, ' ').trim();
}

/** Tags that publishers leave in titles, and character references. A sign `<` stays. */
function withoutMarkup(text: string): string {
  if (!/[<&]/.test(text)) return text;
  return text
    .replace(
      /&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-f]{1,6});/gi,
      (whole) => reference(whole.slice(1, -1)) ?? whole,
    )
    .replace(
      /<\/?(?:i|b|u|em|strong|sub|sup|sc|scp|italic|bold|span|jats:[a-z-]+|mml:[a-z-]+)(?:\s[^<>]{0,500})?\/?>/gi,
      '',
    );
}

const REFERENCES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

function reference(name: string): string | undefined {
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  if (!name.startsWith('#')) return REFERENCES[name.toLowerCase()];
  return code > 31 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    ? String.fromCodePoint(code)
    : undefined;
}

const COMMAND = /\\([A-Za-z]{1,60}\*?|[\s\S])/y;
/** Characters that stand for themselves everywhere. */
const PLAIN = /[^\\{}$^_~'`?!-]+/y;
const LIGATURE = /---?|``|''|[?!]`/y;
const LIGATURES: Readonly<Record<string, string>> = {
  '---': '—',
  '--': '–',
  '``': '“',
  "''": '”',
  '?`': '¿',
  '!`': '¡',
};
/**
 * A formula. Its first sign is before no space, and its last behind none; where it begins like an amount of money, no digit
 * follows: “from $5 to $10” has none.
 */
const MATH =
  /\$\$?(?=\S)(?:(\d(?:[^$\\]|\\[\s\S]){0,2000}?)(?<!\s)\$\$?(?!\d)|(?!\d)((?:[^$\\]|\\[\s\S]){1,2000}?)(?<!\s)\$\$?)/y;

class Conversion {
  readonly #options: LatexOptions;

  constructor(options: LatexOptions) {
    this.#options = options;
  }

  read(value: string, isMath: boolean, depth: number): string {
    let text = '';
    for (let at = 0; at < value.length; ) {
      PLAIN.lastIndex = at;
      const plain = PLAIN.exec(value)?.[0];
      if (plain !== undefined) {
        text += plain;
        at = PLAIN.lastIndex;
        continue;
      }
      const character = value[at] as string;
      const [piece, end] = this.#piece(value, at, character, isMath, depth);
      text += piece;
      at = end;
    }
    return text;
  }

  #piece(value: string, at: number, character: string, isMath: boolean, depth: number): [string, number] {
    switch (character) {
      case '\\':
        return this.#command(value, at, isMath, depth);
      case '{':
      case '}':
        return ['', at + 1];
      case '$':
        return isMath ? ['', at + 1] : this.#formula(value, at, depth);
      case '^':
      case '_':
        return isMath ? this.#raised(value, at, character, depth) : [character, at + 1];
      case '~':
        return [this.#options.isVerbatim ? '~' : ' ', at + 1];
      case "'":
        if (isMath) return ['′', at + 1];
    }
    return this.#options.isVerbatim || isMath ? [character, at + 1] : ligatureAt(value, at);
  }

  /** Reads a formula, or a sign of money. */
  #formula(value: string, at: number, depth: number): [string, number] {
    MATH.lastIndex = at;
    const formula = depth < MAX_DEPTH ? MATH.exec(value) : null;
    if (!formula) return ['$', at + 1];
    return [this.read(formula[1] ?? formula[2] ?? '', true, depth + 1), at + formula[0].length];
  }

  /** Indices and exponents are characters where there are such for all of theirs. */
  #raised(value: string, at: number, sign: '^' | '_', depth: number): [string, number] {
    const [argument, end] = argumentAt(value, at + 1);
    const plain = depth < MAX_DEPTH ? this.read(argument, true, depth + 1) : argument;
    if (sign === '^' && /^[∘°]$/.test(plain)) return ['°', end];
    if (sign === '^' && /^[′]+$/.test(plain)) return [plain, end];
    const raised = Array.from(plain, (one) => TABLE[`${sign}{${one === '−' ? '-' : one}}`]);
    if (plain !== '' && raised.every((one) => typeof one === 'string')) return [raised.join(''), end];
    return [plain === '' ? '' : `${sign}${plain}`, end];
  }

  #command(value: string, start: number, isMath: boolean, depth: number): [string, number] {
    COMMAND.lastIndex = start;
    const found = COMMAND.exec(value)?.[1];
    if (found === undefined) return ['', start + 1];
    const isWord = /^[A-Za-z]/.test(found);
    const name = found.replace(/\*$/, '');
    let end = start + 1 + found.length;
    // White space behind the name of a command belongs to it.
    if (isWord) while (/\s/.test(value[end] ?? '')) end += 1;
    if (!isWord && /^[&%$#_{}]$/.test(name)) return [name, end];
    if (name === '(' || name === ')' || name === '[' || name === ']') return ['', end];
    const accent = Object.hasOwn(ACCENTS, name) ? ACCENTS[name] : undefined;
    if (accent !== undefined) {
      const accented = this.#accented(value, end, accent, depth);
      if (accented) return accented;
      if (!isWord) return [name, end];
    }
    if (VERBATIM.has(name)) {
      const [argument, after] = argumentAt(value, end);
      return [new Conversion({ ...this.#options, isVerbatim: true }).read(argument, false, depth + 1), after];
    }
    const own = this.#own(name);
    if (own) return this.#expand(own, value, end, isMath, depth);
    const known = Object.hasOwn(SIGNS, name) ? undefined : KNOWN.get(name);
    if (known) return this.#expand(known, value, end, isMath, depth);
    return [this.#sign(name, isMath), end];
  }

  /** Returns the command that the file defines under a name, while its budget lasts. */
  #own(name: string): Command | undefined {
    const { commands, budget } = this.#options;
    const own = commands?.get(name);
    if (!own || !budget || budget.left <= 0) return undefined;
    budget.left -= own.body.length + 1;
    return own;
  }

  #sign(name: string, isMath: boolean): string {
    if (Object.hasOwn(SIGNS, name)) return SIGNS[name] ?? '';
    const found = Object.hasOwn(TABLE, `\\${name}`) ? TABLE[`\\${name}`] : undefined;
    const sign =
      typeof found === 'string'
        ? found
        : ((isMath ? found?.math : found?.text) ?? found?.text ?? found?.math);
    if (sign !== undefined) return sign;
    if (/^[^A-Za-z]$/.test(name)) return name;
    this.#options.onUnknown?.(name);
    return '';
  }

  /** Sets an accent on the letter that follows, in braces or not. A sign in place of a letter is kept. */
  #accented(value: string, start: number, accent: string, depth: number): [string, number] | undefined {
    if (start >= value.length || depth >= MAX_DEPTH) return undefined;
    const [argument, end] = argumentAt(value, start);
    if (argument === '') return undefined;
    const [first = '', ...rest] = Array.from(this.read(argument, false, depth + 1).trim());
    // An accent replaces the dot.
    const letter = first === 'ı' ? 'i' : first === 'ȷ' ? 'j' : first;
    if (accent === '\u0361') return [[letter, accent, ...rest].join(''), end];
    return /^\p{L}$/u.test(letter) ? [`${letter}${accent}${rest.join('')}`, end] : undefined;
  }

  #expand(defined: Command, value: string, start: number, isMath: boolean, depth: number): [string, number] {
    const given: string[] = [];
    let end = start;
    for (let n = 0; n < defined.arguments; n += 1) {
      // An option in brackets is about the form.
      const [argument, after] = argumentAt(value, skipOption(value, end));
      given.push(argument);
      end = after;
    }
    const body = defined.body.replace(/#([1-9])/g, (_, number: string) => given[Number(number) - 1] ?? '');
    if (depth >= MAX_DEPTH) return [given.join(''), end];
    return [this.read(body, isMath, depth + 1), end];
  }
}

function ligatureAt(value: string, at: number): [string, number] {
  LIGATURE.lastIndex = at;
  const ligature = LIGATURE.exec(value)?.[0] ?? value[at] ?? '';
  return [LIGATURES[ligature] ?? ligature, at + ligature.length];
}

function skipOption(value: string, start: number): number {
  if (value[start] !== '[') return start;
  const end = value.indexOf(']', start);
  return end < 0 || end - start > 200 ? start : end + 1;
}

/** Returns the argument at a place: a group, a command, or one character. */
function argumentAt(value: string, start: number): [string, number] {
  let at = start;
  while (/\s/.test(value[at] ?? '')) at += 1;
  if (value[at] === '\\') {
    COMMAND.lastIndex = at;
    const name = COMMAND.exec(value)?.[0] ?? '\\';
    return [name, at + name.length];
  }
  if (value[at] !== '{') {
    const [character = ''] = value.slice(at, at + 2);
    return [character === '}' ? '' : character, character === '}' ? at : at + character.length];
  }
  let depth = 0;
  for (let index = at; index < value.length; index += 1) {
    const character = value[index];
    if (character === '\\') index += 1;
    else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    if (depth === 0) return [value.slice(at + 1, index), index + 1];
  }
  return [value.slice(at + 1), value.length];
}

const MAX_COMMANDS = 200;

/** Reads the commands that a `@preamble` defines, as exports of libraries do for signs and for the order of years. */
export function commandsIn(preambles: readonly string[]): Commands {
  const commands = new Map<string, Command>();
  for (const preamble of preambles) {
    const definitions =
      /\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*\{?\s*\\([A-Za-z]+)\s*\}?\s*(?:\[(\d)\])?|\\[gex]?def\s*\\([A-Za-z]+)\s*((?:#\d)*)/g;
    for (const found of preamble.slice(0, 200_000).matchAll(definitions)) {
      if (commands.size >= MAX_COMMANDS) return commands;
      const [whole, newName, count = '0', defName, parameters = ''] = found;
      const [body] = argumentAt(preamble, found.index + whole.length);
      commands.set(newName ?? defName ?? '', {
        arguments: defName === undefined ? Number(count) : parameters.length / 2,
        body: body.slice(0, 2_000),
      });
    }
  }
  return commands;
}
