import { createHash } from 'node:crypto';

/** Numbers from 0 to 1, from a seed. */
export type Random = () => number;

/** What was done to a genuine file. */
export interface Forgery<Input> {
  /** Such as `delete`, `null` or `swap`. */
  operation: string;
  /** Where: a JSON pointer, the number of a line, the name of a file, the place of a DER node. */
  pointer: string;
  input: Input;
}

export type Verdict = 'intact' | 'unsigned' | 'altered' | 'unknown';

/** A format, with genuine files of it, and all that is known of it here apart from the code that verifies it. */
export interface ForgedFormat<Input = never> {
  name: string;
  /** The forgeries of it in a hundred thousand. */
  share: number;
  /** Two genuine files with different contents. */
  genuine: readonly [Input, Input];
  forge: (genuine: Input, other: Input, random: Random) => Forgery<Input>;
  /** What the program says of a file. */
  verdict: (input: Input) => Verdict | Promise<Verdict>;
  /** What the command `strongroom verify` is given for the same, after it was written to the disk. */
  command?: (input: Input) => Promise<string[]>;
  /**
   * The oracle: what the file says, as one text, computed without the code that verifies. A file that says what a genuine
   * one says may be called intact. Undefined if it says nothing that can be read.
   */
  content: (input: Input) => string | undefined;
}

/** Takes one of several. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is nothing to take.');
  return item;
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Changes one character of a text, or one bit of a byte. */
export function otherText(text: string, random: Random): string {
  if (text === '') return 'x';
  const at = Math.floor(random() * text.length);
  const code = text.charCodeAt(at);
  return `${text.slice(0, at)}${String.fromCharCode(code ^ (code > 0x7f ? 1 : pick(random, [1, 2, 4])))}${text.slice(at + 1)}`;
}

export function otherBytes(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return Buffer.from('x');
  const copy = Buffer.from(bytes);
  const at = Math.floor(random() * copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return copy;
}

/** Changes the bytes of a file that has no parts: a bit, an end, nothing left, something before or after. */
export function forgeBytes(bytes: Buffer, other: Buffer, random: Random): Forgery<Buffer> {
  const at = Math.floor(random() * bytes.length);
  const operation = pick(random, [
    'bit',
    'truncate',
    'empty',
    'extra',
    'before',
    'delete',
    'swap',
    'repeat',
  ] as const);
  const made = {
    bit: () => otherBytes(bytes, random),
    truncate: () => bytes.subarray(0, at),
    empty: () => Buffer.alloc(0),
    extra: () => Buffer.concat([bytes, Buffer.from(pick(random, ['\n', ' ', 'x', '\0', '<p>']))]),
    before: () => Buffer.concat([Buffer.from(pick(random, ['\n', ' ', 'x', '\ufeff', '<p>'])), bytes]),
    delete: () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
    swap: () => other,
    repeat: () => Buffer.concat([bytes, bytes]),
  };
  return { operation, pointer: `byte ${at}`, input: made[operation]() };
}

/** Changes the lines of a text: each with its line feed. */
export function forgeLines(text: string, other: string, random: Random): Forgery<string> {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [''];
  const others = other.match(/[^\n]*\n|[^\n]+$/g) ?? [''];
  const at = Math.floor(random() * lines.length);
  const to = Math.floor(random() * lines.length);
  const line = lines[at] ?? '';
  const operation = pick(random, [
    'delete',
    'empty',
    'duplicate',
    'reorder',
    'truncate',
    'swap',
    'foreign',
    'character',
    'extra',
    'cut',
    'ending',
  ] as const);
  const replaced = (...by: string[]) => [...lines.slice(0, at), ...by, ...lines.slice(at + 1)];
  const made = {
    delete: () => replaced(),
    empty: () => replaced('\n'),
    duplicate: () => replaced(line, line),
    reorder: () =>
      lines.map((each, index) => (index === at ? (lines[to] ?? '') : index === to ? line : each)),
    truncate: () => lines.slice(0, at),
    swap: () => replaced(others[at] ?? others.at(-1) ?? ''),
    foreign: () => replaced(line, pick(random, others)),
    character: () => replaced(otherText(line, random)),
    extra: () => replaced(line, pick(random, ['x\n', ' \n', '\u2014 somebody AAAAAA==\n', '0\n'])),
    cut: () => replaced(line.slice(0, Math.floor(random() * line.length))),
    ending: () => replaced(line.replace('\n', pick(random, ['\r\n', ' \n', '']))),
  };
  return { operation, pointer: `line ${at + 1}`, input: made[operation]().join('') };
}
