import { combining, latex2unicode } from 'unicode2latex';

/** A command, as `\newcommand` defines it: `#1` to `#9` in the body are its arguments. */
export interface Command {
  arguments: number;
  body: string;
}
/** The commands that a file defines itself, by their names without the backslash. */
export type Commands = ReadonlyMap<string, Command>;

const command = (count: number, body: string): Command => ({ arguments: count, body });

/** Commands of LaTeX, BibLaTeX and their packages that stand for their arguments or for words. */
export const KNOWN: Commands = new Map([
  ...[
    'TeX',
    'LaTeX',
    'LaTeXe',
    'BibTeX',
    'XeTeX',
    'XeLaTeX',
    'LuaTeX',
    'LuaLaTeX',
    'pdfTeX',
    'pdfLaTeX',
    'AmS',
  ].map((name): [string, Command] => [name, command(0, name === 'LaTeXe' ? 'LaTeX2e' : name)]),
  // Marks of form: what they mark stays.
  ...(
    'emph textbf textit textsl textsc textrm textsf textup textmd textnormal textlatin text mbox hbox fbox underline uline ' +
    'mathrm mathit mathbf mathsf mathtt mathnormal operatorname boldsymbol bm ensuremath lowercase ' +
    'uppercase MakeLowercase MakeUppercase NoCaseChange mkbibemph mkbibbold mkbibitalic mkbibacro mkbibparens bibnamefont ' +
    'bibfnamefont singleletter natexlab'
  )
    .split(' ')
    .map((name): [string, Command] => [name, command(1, '#1')]),
  // Switches that have no text.
  ...(
    'em it bf sc tt rm sl sf up md normalfont itshape bfseries scshape slshape ttfamily rmfamily sffamily upshape tiny scriptsize ' +
    'footnotesize small normalsize large Large LARGE huge Huge protect relax noindent boldmath unboldmath displaystyle textstyle ' +
    'scriptstyle limits nolimits left right big Big bigl bigr Bigl Bigr bigg Bigg string null break nobreak allowbreak linebreak ' +
    'nolinebreak newblock hyphen leavevmode ignorespaces unskip centering sloppy makeatletter makeatother'
  )
    .split(' ')
    .map((name): [string, Command] => [name, command(0, '')]),
  ...[
    'quad',
    'qquad',
    'enspace',
    'enskip',
    'thinspace',
    'medspace',
    'thickspace',
    'space',
    'newline',
    'hfill',
    'nbsp',
  ].map((name): [string, Command] => [name, command(0, '\\ ')]),
  ...[
    'href',
    'foreignlanguage',
    'textcolor',
    'bibinfo',
    'bibfield',
    'hyphenquote',
    'foreignquote',
    'colorbox',
  ].map((name): [string, Command] => [name, command(2, '#2')]),
  ...['hspace', 'hskip', 'hphantom'].map((name): [string, Command] => [name, command(1, '\\ ')]),
  ...[
    'vspace',
    'noopsort',
    'Noopsort',
    'NOOPSORT',
    'noop',
    'sortnoop',
    'SortNoop',
    'SortNOOP',
    'color',
    'selectlanguage',
    'phantom',
    'label',
  ].map((name): [string, Command] => [name, command(1, '')]),
  ['printfirst', command(2, '#1')],
  ['switchargs', command(2, '#2#1')],
  ['enquote', command(1, '“#1”')],
  ['mkbibquote', command(1, '“#1”')],
  ['frac', command(2, '#1/#2')],
  ['sqrt', command(1, '√#1')],
  ['textsuperscript', command(1, '$^{#1}$')],
  ['textsubscript', command(1, '$_{#1}$')],
  ['mkbibsuperscript', command(1, '$^{#1}$')],
  ['mkbibsubscript', command(1, '$_{#1}$')],
]);

/** Commands whose argument is an address, a path or a text that has no commands. */
export const VERBATIM: ReadonlySet<string> = new Set([
  'url',
  'nolinkurl',
  'path',
  'doi',
  'burl',
  'detokenize',
  'texttt',
]);

/** Commands that stand for signs and that the table of `unicode2latex` lacks, or has otherwise than titles mean them. */
export const SIGNS: Readonly<Record<string, string>> = {
  ',': ' ',
  ';': ' ',
  ':': ' ',
  '>': ' ',
  ' ': ' ',
  '\n': ' ',
  '\t': ' ',
  '\\': ' ',
  '-': '',
  '/': '',
  '!': '',
  '@': '',
  textquotesingle: "'",
  degree: '°',
  celsius: '°C',
  textcelsius: '°C',
  ohm: 'Ω',
  micro: 'µ',
  textperthousand: '‰',
  permil: '‰',
  perthousand: '‰',
  glqq: '„',
  grqq: '“',
  glq: '‚',
  grq: '‘',
  flqq: '«',
  frqq: '»',
  flq: '‹',
  frq: '›',
  quotedblbase: '„',
  quotesinglbase: '‚',
  dots: '…',
  ldots: '…',
  textellipsis: '…',
  lq: '‘',
  rq: '’',
  cprime: '′',
  prime: '′',
  par: '\n',
  slash: '/',
  lt: '<',
  gt: '>',
  and: '&',
  EUR: '€',
  geneuro: '€',
  officialeuro: '€',
  textregistered: '®',
  texttrademark: '™',
  textcopyright: '©',
  copyright: '©',
  pounds: '£',
  S: '§',
  P: '¶',
  dag: '†',
  ddag: '‡',
  cdot: '·',
  cdotp: '·',
  textperiodcentered: '·',
  textasciigrave: '`',
  textunderscore: '_',
  lbrace: '{',
  rbrace: '}',
  textvisiblespace: ' ',
  log: 'log',
  ln: 'ln',
  exp: 'exp',
  sin: 'sin',
  cos: 'cos',
  tan: 'tan',
  max: 'max',
  min: 'min',
  det: 'det',
  dim: 'dim',
  lim: 'lim',
  textcompwordmark: '',
  SS: 'SS',
  mod: 'mod',
  bmod: 'mod',
  colon: ':',
};

/** The accents, as combining characters. */
export const ACCENTS: Readonly<Record<string, string>> = {
  ...combining.tounicode,
  c: '\u0327',
  k: '\u0328',
  b: '\u0331',
  d: '\u0323',
  v: '\u030c',
  t: '\u0361',
  G: '\u030f',
  h: '\u0309',
  U: '\u030e',
  hat: '\u0302',
  widehat: '\u0302',
  tilde: '\u0303',
  bar: '\u0304',
  vec: '\u20d7',
};

export const TABLE = latex2unicode as Readonly<
  Record<string, string | { text?: string; math?: string } | undefined>
>;
