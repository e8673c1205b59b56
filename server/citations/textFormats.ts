import type { CslItem, CslName } from '../../shared/archive/citation.ts';
import { type CitableWork, type CitedWork, initials, nameParts, urnOf } from './citedWork.ts';

/** If there are more authors, only the first 19 and the last are named. */
const MAX_AUTHORS = 20;

/**
 * Formats a reference in the style of the APA Publication Manual (7th edition, 10.9), as plain text. A pack without a URL
 * is identified by its fingerprint.
 */
export function apaReference(work: CitableWork): string {
  const version = work.version === undefined ? '' : ` (Version ${work.version})`;
  const title = `${work.title}${version} [${genreOf(work)}].`;
  const authors = listed(work.authors.map(({ name }) => nameParts(name)));
  const year = `(${work.date.year}).`;
  // Without authors, the title comes first.
  const opening = authors === '' ? [title, year] : [withFullStop(authors), year, title];
  const identifier = work.url ?? urnOf(work);
  return [...opening, withFullStop(work.publisher), ...(identifier ? [identifier] : [])].join(' ');
}

function listed(names: readonly CslName[]): string {
  const texts = names.map(nameText);
  const last = texts.pop() ?? '';
  if (texts.length === 0) return last;
  if (texts.length + 1 > MAX_AUTHORS) return `${texts.slice(0, MAX_AUTHORS - 1).join(', ')}, … ${last}`;
  // Two names need a comma between them only if the first is inverted ("Family, G.").
  const first = names.at(0);
  const isInverted = first !== undefined && 'family' in first && hasCase(first.family + first.given);
  const separator = texts.length > 1 || isInverted ? ', & ' : ' & ';
  return texts.join(', ') + separator + last;
}

function nameText(name: CslName): string {
  if ('literal' in name) return name.literal;
  const { family, given, suffix } = name;
  if (!hasCase(family + given)) return `${family}${given}`;
  return [family, initials(given), ...(suffix === undefined ? [] : [suffix])].join(', ');
}

/** Returns whether a script has capital letters. Names in other scripts are written with the family name first, unseparated. */
function hasCase(text: string): boolean {
  return /[\p{Lu}\p{Ll}]/u.test(text);
}

function withFullStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** BibTeX counts braces even after a backslash, so unpaired braces must be replaced. */
const LATEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '{': '\\textbraceleft{}',
  '}': '\\textbraceright{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '%': '\\%',
  '&': '\\&',
  $: '\\$',
  '#': '\\#',
  _: '\\_',
};

/**
 * Formats a BibTeX entry in UTF-8. It is implemented here because the library used for comparison in the tests drops
 * every letter that LaTeX has no command for, for example a whole title in Chinese.
 */
export function bibtexEntry(work: CitableWork): string {
  const fields: Record<string, string> = {
    author: work.authors.map(({ name }) => bibtexAuthor(nameParts(name))).join(' and '),
    // The second pair of braces preserves the capital letters of the title.
    title: `{${escapeLatex(work.title)}}`,
    year: String(work.date.year),
    publisher: `{${escapeLatex(work.publisher)}}`,
    url: work.url ?? '',
    version: work.version === undefined ? '' : String(work.version),
    keywords: work.keywords
      .map(keywordText)
      .filter((keyword) => keyword !== '')
      .join(', '),
    abstract: escapeLatex(work.abstract),
    note: work.digest ? fingerprintNote(work.digest) : '',
  };
  const lines = Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `  ${name} = {${value}},`);
  // The month is a BibTeX macro, so it has no braces.
  return [`@misc{${work.id},`, ...lines, `  month = ${MONTHS[work.date.month - 1]},`, '}', ''].join('\n');
}

function escapeLatex(text: string): string {
  return text.replace(/[\\{}~^%&$#_]/g, (character) => LATEX[character] ?? character);
}

/** Readers split keywords at each comma, some of them inside braces too, so a keyword must not contain one. */
function keywordText(keyword: string): string {
  return escapeLatex(keyword.replace(/\s*,\s*/g, ' ').trim());
}

/** Braces protect commas and the word `and` in a name. */
function bibtexAuthor(name: CslName): string {
  if ('literal' in name) return `{${escapeLatex(name.literal)}}`;
  const suffix = name.suffix === undefined ? '' : `${namePart(name.suffix)}, `;
  return `${namePart(name.family)}, ${suffix}${namePart(name.given)}`;
}

function namePart(part: string): string {
  const escaped = escapeLatex(part);
  return /(?:^|\s)and(?:\s|$)/i.test(part) ? `{${escaped}}` : escaped;
}

/**
 * Formats a RIS record: one field per line, with CRLF line ends. It is implemented here because the library used for
 * comparison in the tests wraps values at 70 characters, and readers truncate such values.
 */
export function risRecord(work: CitableWork): string {
  const { year, month, day } = work.date;
  const two = (number: number) => String(number).padStart(2, '0');
  const fields: [string, string | undefined][] = [
    ['TY', work.kind === 'pack' ? 'DATA' : 'GEN'],
    ['ID', work.id],
    ...work.authors.map(({ name }): [string, string] => ['AU', risAuthor(name)]),
    ['TI', work.title],
    ['PY', String(year)],
    ['DA', `${year}/${two(month)}/${two(day)}`],
    ['PB', work.publisher],
    ['ET', work.version === undefined ? undefined : String(work.version)],
    ['AB', work.abstract || undefined],
    ...work.keywords.map((keyword): [string, string] => ['KW', keyword]),
    ['N1', work.digest ? fingerprintNote(work.digest) : undefined],
    ['UR', work.url],
    ['ER', ''],
  ];
  return fields
    .filter(([, value]) => value !== undefined)
    .map(([tag, value]) => `${tag}  - ${value}\r\n`)
    .join('');
}

/** RIS has a name as `Family, Given, Suffix`. */
function risAuthor(name: string): string {
  const parts = nameParts(name);
  if ('literal' in parts) return parts.literal;
  return [parts.family, parts.given, ...(parts.suffix === undefined ? [] : [parts.suffix])].join(', ');
}

/** Returns the genre of the work, which APA shows in brackets. */
export function genreOf({ kind }: Pick<CitedWork, 'kind'>): string {
  return kind === 'pack' ? 'Data set' : 'Study';
}

/** Returns the work as CSL-JSON, the format of citation managers. */
export function cslItem(work: CitableWork): CslItem {
  const { year, month, day } = work.date;
  return {
    id: work.id,
    type: work.kind === 'pack' ? 'dataset' : 'document',
    title: work.title,
    author: work.authors.map(({ name }) => nameParts(name)),
    issued: { 'date-parts': [[year, month, day]] },
    publisher: work.publisher,
    ...(work.url === undefined ? {} : { URL: work.url }),
    genre: genreOf(work),
    ...(work.version === undefined ? {} : { version: String(work.version) }),
    ...(work.abstract ? { abstract: work.abstract } : {}),
    ...(work.keywords.length > 0 ? { keyword: work.keywords.join(', ') } : {}),
    ...(work.digest ? { note: fingerprintNote(work.digest) } : {}),
  };
}

function fingerprintNote(digest: string): string {
  return `SHA-256 fingerprint: ${digest}`;
}
