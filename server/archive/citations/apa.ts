import type { CslName } from '../../../shared/citation.ts';
import type { CitedWork } from './citedWork.ts';
import { genreOf } from './csl.ts';
import { initials, nameParts } from './names.ts';

/** From 21 authors on, the first 19 are named and the last. */
const MAX_AUTHORS = 20;

/** The reference as the Publication Manual of the APA (7th edition, 10.9) writes it, as plain text. */
export function apaReference(work: CitedWork): string {
  const version = work.version === undefined ? '' : ` (Version ${work.version})`;
  const title = `${work.title}${version} [${genreOf(work)}].`;
  const authors = listed(work.authors.map(({ name }) => nameParts(name)));
  const year = `(${work.date.year}).`;
  // Where nobody is named, the title comes first.
  const opening = authors === '' ? [title, year] : [withFullStop(authors), year, title];
  return [...opening, withFullStop(work.publisher), work.url].join(' ');
}

function listed(names: readonly CslName[]): string {
  const texts = names.map(nameText);
  const last = texts.pop() ?? '';
  if (texts.length === 0) return last;
  if (texts.length + 1 > MAX_AUTHORS) return `${texts.slice(0, MAX_AUTHORS - 1).join(', ')}, … ${last}`;
  // Two names that are not turned round need no comma between them.
  const first = names.at(0);
  const isTurned = first !== undefined && 'family' in first && hasCase(first.family + first.given);
  const separator = texts.length > 1 || isTurned ? ', & ' : ' & ';
  return texts.join(', ') + separator + last;
}

function nameText(name: CslName): string {
  if ('literal' in name) return name.literal;
  const { family, given } = name;
  return hasCase(family + given) ? `${family}, ${initials(given)}` : `${family}${given}`;
}

/** Whether a name is of a script with capital letters; others write the family name first, with nothing between. */
function hasCase(text: string): boolean {
  return /[\p{Lu}\p{Ll}]/u.test(text);
}

function withFullStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
