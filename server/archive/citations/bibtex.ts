import type { CslName } from '../../../shared/archive/citation.ts';
import type { CitableWork } from './citedWork.ts';
import { fingerprintNote } from './csl.ts';
import { nameParts } from './names.ts';

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
    author: work.authors.map(({ name }) => authorText(nameParts(name))).join(' and '),
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
function authorText(name: CslName): string {
  if ('literal' in name) return `{${escapeLatex(name.literal)}}`;
  const suffix = name.suffix === undefined ? '' : `${namePart(name.suffix)}, `;
  return `${namePart(name.family)}, ${suffix}${namePart(name.given)}`;
}

function namePart(part: string): string {
  const escaped = escapeLatex(part);
  return /(?:^|\s)and(?:\s|$)/i.test(part) ? `{${escaped}}` : escaped;
}
