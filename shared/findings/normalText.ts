/**
 * A text in the form in which passages are compared, with the place of each of its characters in the text. Two texts that
 * a reader would call the same words have the same form: white space, line breaks, ligatures, presentation forms, soft
 * hyphens, marks of direction and the shapes of quotes and dashes do not count. Letters, digits and their case do.
 */
export interface NormalText {
  text: string;
  /** The range in the original of each UTF-16 unit of `text`. */
  starts: Uint32Array;
  ends: Uint32Array;
}

const CJK = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u;
/** Soft hyphens, joiners, marks of direction, the byte order mark and the Arabic stretch: they are not words. */
export const IGNORED_CHARACTERS = String.raw`\u00ad\u0640\u200b-\u200f\u2060-\u2064\u2066-\u2069\u202a-\u202e\ufeff`;
const IGNORED = new RegExp(`^[${IGNORED_CHARACTERS}]$`);
const WHITE = /[^\S\ufeff]/;
/**
 * A character with the marks that are combined with it. No script has more of them (UAX 15, stream-safe text), and sorting a
 * longer run takes quadratic time.
 */
const SEGMENT = /[^][\p{M}\u1160-\u11ff]{0,30}/uy;
/** A word that is divided at the end of a line. */
const DIVISION = /[-\u2010\u00ad][^\S\n]*\r?\n\s*(?=\p{L})/uy;
const LETTER_BEFORE = /\p{L}$/u;

const SHAPES: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '‚': "'",
  '‛': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '–': '-',
  '—': '-',
};

/**
 * Returns the form of a text in which passages are compared.
 *
 * @param joinsWords whether a hyphen at the end of a line divides one word (`transpar-⏎ency`), or belongs to it
 * (`well-⏎known`)
 */
export function normalTextOf(text: string, joinsWords: boolean): NormalText {
  const writer = new Writer(text.length);
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const isPlain = code > 0x20 && code < 0x7f && code !== 0x2d && !(text.charCodeAt(at + 1) >= 0x300);
    if (isPlain) {
      writer.put(text.charAt(at), at, at + 1);
      at += 1;
    } else if (WHITE.test(text.charAt(at))) at = writer.putSpace(text, at);
    else at = putSegment(writer, text, at, joinsWords);
  }
  return writer.finish();
}

function putSegment(writer: Writer, text: string, at: number, joinsWords: boolean): number {
  DIVISION.lastIndex = at;
  const division = LETTER_BEFORE.test(text.slice(Math.max(0, at - 2), at)) && DIVISION.exec(text)?.[0];
  if (division) {
    if (!joinsWords) writer.put('-', at, at + 1);
    return at + division.length;
  }
  SEGMENT.lastIndex = at;
  const segment = SEGMENT.exec(text)?.[0] ?? text.charAt(at);
  const end = at + segment.length;
  if (!IGNORED.test(segment)) writer.put(formOf(segment), at, end);
  return end;
}

/** A raised 2 is not the digit 2: numbers of other shapes keep their shape, because 10² is not 102. */
function formOf(segment: string): string {
  return SHAPES[segment] ?? segment.normalize(/^\p{No}/u.test(segment) ? 'NFC' : 'NFKC');
}

/** Collects the characters with their places. A form is at most 18 times as long as its character (U+FDFA). */
class Writer {
  readonly #parts: string[] = [];
  #starts: Uint32Array;
  #ends: Uint32Array;
  #length = 0;
  /** A run of white space that is written once something follows it. */
  #space: { start: number; end: number } | undefined;
  #last = '';

  constructor(length: number) {
    this.#starts = new Uint32Array(length + 32);
    this.#ends = new Uint32Array(length + 32);
  }

  put(characters: string, start: number, end: number): void {
    const space = this.#space;
    this.#space = undefined;
    // Between ideographs, a line break is no word break.
    if (space && this.#last !== '' && !(CJK.test(this.#last) && CJK.test(characters)))
      this.#add(' ', space.start, space.end);
    this.#add(characters, start, end);
    this.#last = characters;
  }

  putSpace(text: string, start: number): number {
    let end = start + 1;
    while (end < text.length && WHITE.test(text.charAt(end))) end += 1;
    this.#space = { start: this.#space?.start ?? start, end };
    return end;
  }

  #add(characters: string, start: number, end: number): void {
    if (this.#length + characters.length > this.#starts.length) this.#grow(characters.length);
    this.#parts.push(characters);
    this.#starts.fill(start, this.#length, this.#length + characters.length);
    this.#ends.fill(end, this.#length, this.#length + characters.length);
    this.#length += characters.length;
  }

  #grow(by: number): void {
    const larger = (array: Uint32Array) => {
      const grown = new Uint32Array(2 * array.length + by);
      grown.set(array);
      return grown;
    };
    this.#starts = larger(this.#starts);
    this.#ends = larger(this.#ends);
  }

  finish(): NormalText {
    return { text: this.#parts.join(''), starts: this.#starts, ends: this.#ends };
  }
}
