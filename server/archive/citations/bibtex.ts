import type { CslName } from '../../../shared/citation.ts';
import type { CitedWork } from './citedWork.ts';
import { fingerprintNote } from './csl.ts';
import { nameParts } from './names.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** BibTeX counts braces whether or not a backslash is before them, so in a value none may stand but in pairs. */
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
 * A BibTeX entry, in UTF-8. Written here because the library that we compare it with in tests leaves out every letter
 * that LaTeX has no command for, and with it a whole title in Chinese.
 */
export function bibtexEntry(work: CitedWork): string {
  const fields: Record<string, string> = {
    author: work.authors.map(({ name }) => authorText(nameParts(name))).join(' and '),
    // A second pair of braces keeps the capitals of the title as they are.
    title: `{${escapeLatex(work.title)}}`,
    year: String(work.date.year),
    publisher: `{${escapeLatex(work.publisher)}}`,
    url: work.url,
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
  // A month is one of BibTeX's own words, without braces.
  return [`@misc{${work.id},`, ...lines, `  month = ${MONTHS[work.date.month - 1]},`, '}', ''].join('\n');
}

export function escapeLatex(text: string): string {
  return text.replace(/[\\{}~^%&$#_]/g, (character) => LATEX[character] ?? character);
}

/**
 * Readers part keywords at each comma, some of them inside braces too, so none may stand in a keyword.
 */
function keywordText(keyword: string): string {
  return escapeLatex(keyword.replace(/\s*,\s*/g, ' ').trim());
}

/** In braces a name is one piece, whatever commas and `and`s it has. */
function authorText(name: CslName): string {
  if ('literal' in name) return `{${escapeLatex(name.literal)}}`;
  return `${namePart(name.family)}, ${namePart(name.given)}`;
}

function namePart(part: string): string {
  const escaped = escapeLatex(part);
  return /(?:^|\s)and(?:\s|$)/i.test(part) ? `{${escaped}}` : escaped;
}
