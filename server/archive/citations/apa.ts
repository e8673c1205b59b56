import type { CslName } from '../../../shared/archive/citation.ts';
import { type CitableWork, urnOf } from './citedWork.ts';
import { genreOf } from './csl.ts';
import { initials, nameParts } from './names.ts';

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
