/** The combining characters of LaTeX's accents. */
const ACCENTS: Readonly<Record<string, string>> = {
  '`': '\u0300',
  "'": '\u0301',
  '^': '\u0302',
  '~': '\u0303',
  '=': '\u0304',
  u: '\u0306',
  '.': '\u0307',
  '"': '\u0308',
  r: '\u030a',
  H: '\u030b',
  v: '\u030c',
  d: '\u0323',
  c: '\u0327',
  k: '\u0328',
  b: '\u0331',
};

/** Commands that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = {
  ss: 'ß',
  o: 'ø',
  O: 'Ø',
  l: 'ł',
  L: 'Ł',
  ae: 'æ',
  AE: 'Æ',
  oe: 'œ',
  OE: 'Œ',
  aa: 'å',
  AA: 'Å',
  dh: 'ð',
  DH: 'Ð',
  th: 'þ',
  TH: 'Þ',
  dj: 'đ',
  DJ: 'Đ',
  ng: 'ŋ',
  i: 'ı',
  j: 'ȷ',
  textendash: '–',
  textemdash: '—',
  textquoteright: '’',
  textquoteleft: '‘',
  textasciitilde: '~',
  textbackslash: '\\',
  alpha: 'α',
  beta: 'β',
  gamma: 'γ',
  delta: 'δ',
  epsilon: 'ε',
  lambda: 'λ',
  mu: 'μ',
  pi: 'π',
  sigma: 'σ',
  omega: 'ω',
  times: '×',
  pm: '±',
  degree: '°',
  ldots: '…',
  dots: '…',
  par: '\n',
};

const COMMAND = /\\(?:([`'^~=".])|([A-Za-z]{1,40})|([\s\S]))/y;
/** What an accent is set on: a character, or a command or a group of one. */
const ACCENTED = /\s*(?:\{\s*)?(?:\\([ij])(?![A-Za-z])|([\p{L}]))(?:\s*\})?/uy;

/**
 * Returns a value of BibTeX as plain text: accents and commands that stand for characters are read, other commands and braces
 * are left out, and their contents stay.
 */
export function latexText(value: string): string {
  let text = '';
  for (let index = 0; index < value.length; ) {
    const character = value[index] as string;
    if (character === '\\') {
      const read = readCommand(value, index);
      text += read.text;
      index = read.end;
      continue;
    }
    index += 1;
    if (character === '{' || character === '}' || character === '$') continue;
    text += character === '~' ? ' ' : character;
  }
  return text
    .replaceAll('---', '—')
    .replaceAll('--', '–')
    .replaceAll('``', '“')
    .replaceAll("''", '”')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, ' ')
    .normalize('NFC')
    .trim();
}

function readCommand(value: string, start: number): { text: string; end: number } {
  COMMAND.lastIndex = start;
  const [whole = '\\', sign, word, escaped] = COMMAND.exec(value) ?? [];
  const end = start + whole.length;
  const accent = ACCENTS[sign ?? word ?? ''];
  if (accent !== undefined) {
    ACCENTED.lastIndex = end;
    const found = ACCENTED.exec(value);
    if (found) return { text: (found[1] ?? found[2] ?? '') + accent, end: ACCENTED.lastIndex };
  }
  if (word === undefined) return { text: escaped === '\\' ? ' ' : (escaped ?? ''), end };
  // The space after a command belongs to it.
  const after = value[end] === ' ' ? end + 1 : end;
  return Object.hasOwn(CHARACTERS, word)
    ? { text: CHARACTERS[word] ?? '', end: after }
    : { text: '', end: after };
}
