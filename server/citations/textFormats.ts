import type { CslItem, CslName } from '../../shared/archive/citation.ts';
import { html } from '../html.ts';
import {
  type CitableWork,
  type CitedAuthor,
  dateText,
  doiUrlOf,
  initials,
  KINDS,
  nameParts,
  urnOf,
} from './citedWork.ts';

/** If there are more authors, only the first 19 and the last are named. */
const MAX_AUTHORS = 20;

/**
 * Formats a reference in the style of the APA Publication Manual (7th edition, 10.9 and 10.16), as plain text. A pack
 * without a URL is identified by its fingerprint. When an observed page was published is not known, so the day of its
 * retrieval is named.
 */
export function apaReference(work: CitableWork): string {
  const { observed } = work;
  const version = work.version === undefined ? '' : ` (Version ${work.version})`;
  const title = observed ? withFullStop(work.title) : `${work.title}${version} [${KINDS[work.kind].genre}].`;
  const authors = listed(work.authors.map(nameParts));
  const year = `(${observed ? 'n.d.' : work.date.year}).`;
  // Without authors, the title comes first.
  const opening = authors === '' ? [title, year] : [withFullStop(authors), year, title];
  const identifier = doiUrlOf(work) ?? work.url ?? urnOf(work);
  if (!observed) {
    return [...opening, withFullStop(work.publisher), ...(identifier ? [identifier] : [])].join(' ');
  }
  const archive = `${work.publisher}${identifier ? ` (${identifier})` : ''}`;
  const day = `${MONTHS[work.date.month - 1]} ${work.date.day}, ${work.date.year}`;
  const seen = work.digest === null ? `Observed ${day}, at` : `Retrieved ${day}, from`;
  return [...opening, withFullStop(archive), withFullStop(observed.site), seen, observed.address].join(' ');
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

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

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
  const { observed } = work;
  const fields: Record<string, string> = {
    author: work.authors.map((author) => bibtexAuthor(nameParts(author))).join(' and '),
    // The second pair of braces preserves the capital letters of the title.
    title: `{${escapeLatex(work.title)}}`,
    ...(observed
      ? {
          organization: `{${escapeLatex(observed.site)}}`,
          url: observed.address.replace(/[{}\\]/g, encodeURIComponent),
          urldate: dateText(work),
        }
      : {
          year: String(work.date.year),
          publisher: `{${escapeLatex(work.publisher)}}`,
          doi: escapeLatex(work.doi ?? ''),
          url: work.url ?? '',
        }),
    version: work.version === undefined ? '' : String(work.version),
    keywords: work.keywords
      .map(keywordText)
      .filter((keyword) => keyword !== '')
      .join(', '),
    abstract: escapeLatex(work.abstract),
    note: escapeLatex(noteOf(work)),
  };
  const lines = Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `  ${name} = {${value}},`);
  // The month is a BibTeX macro, so it has no braces.
  const month = observed ? [] : [`  month = ${MONTHS[work.date.month - 1]?.slice(0, 3).toLowerCase()},`];
  return [`@misc{${work.id},`, ...lines, ...month, '}', ''].join('\n');
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
  const { observed } = work;
  const day = dateText(work).replaceAll('-', '/');
  const fields: [string, string | undefined][] = [
    ['TY', KINDS[work.kind].ris],
    ['ID', work.id],
    ...work.authors.map((author): [string, string] => ['AU', risAuthor(author)]),
    ['TI', work.title],
    ...(observed
      ? ([
          ['T2', observed.site],
          // The day of the retrieval; some programs have it in the one field, some in the other.
          ['Y2', day],
          ['M1', day],
          ['DB', work.publisher],
          ['AV', work.url ?? urnOf(work)],
        ] as [string, string | undefined][])
      : ([
          ['PY', String(work.date.year)],
          ['DA', day],
          ['PB', work.publisher],
          ['DO', work.doi],
        ] as [string, string | undefined][])),
    ['ET', work.version === undefined ? undefined : String(work.version)],
    ['AB', work.abstract || undefined],
    ...work.keywords.map((keyword): [string, string] => ['KW', keyword]),
    ['N1', noteOf(work) || undefined],
    ['UR', observed ? observed.address : work.url],
    ['ER', ''],
  ];
  return fields
    .filter(([, value]) => value !== undefined)
    .map(([tag, value]) => `${tag}  - ${value}\r\n`)
    .join('');
}

/** RIS has a name as `Family, Given, Suffix`. */
function risAuthor(author: CitedAuthor): string {
  const parts = nameParts(author);
  if ('literal' in parts) return parts.literal;
  return [parts.family, parts.given, ...(parts.suffix === undefined ? [] : [parts.suffix])].join(', ');
}

/** Returns the work as CSL-JSON, the format of citation managers. */
export function cslItem(work: CitableWork): CslItem {
  const { observed, publisher, url } = work;
  const { csl, genre } = KINDS[work.kind];
  const { year, month, day } = work.date;
  const date = { 'date-parts': [[year, month, day]] } satisfies CslItem['issued'];
  const location = url ?? urnOf(work);
  const note = noteOf(work);
  return {
    id: work.id,
    type: csl,
    title: work.title,
    author: work.authors.map(nameParts),
    ...(observed
      ? {
          accessed: date,
          'container-title': observed.site,
          URL: observed.address,
          archive: publisher,
          ...(location === undefined ? {} : { archive_location: location }),
        }
      : {
          issued: date,
          publisher,
          ...(work.doi === undefined ? {} : { DOI: work.doi }),
          ...(url === undefined ? {} : { URL: url }),
          genre,
        }),
    ...(work.version === undefined ? {} : { version: String(work.version) }),
    ...(work.abstract ? { abstract: work.abstract } : {}),
    ...(work.keywords.length > 0 ? { keyword: work.keywords.join(', ') } : {}),
    ...(note ? { note } : {}),
  };
}

/** What no field of a format has: the time of a retrieval, who made it, where the version is, and the digest. */
function noteOf({ observed, digest, publisher, url }: CitableWork): string {
  return [
    observed && `${digest === null ? 'Observed' : 'Retrieved'} ${observed.at}${observed.by}`,
    observed && `archived by ${publisher}${url === undefined ? '' : `: ${url}`}`,
    digest && `SHA-256 fingerprint: ${digest}`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** What a URN cannot hold as it is (RFC 8141), such as a query and a fragment; and so the percent sign. */
const NOT_IN_URN = /[^\w.~!$&'()*+,;=:@/-]/g;
/** What the name of an archive in a PWID may not have. */
const NOT_IN_ARCHIVE_ID = /[^A-Za-z0-9._~-]+/g;

/**
 * Returns the PWID of an observed version (the IANA registration of the URN namespace `pwid`): who archived what, when, and
 * how much of it. The archive is the host of its public address, else its name. Undefined if there is no version.
 */
export function pwidOf({ observed, digest, url, publisher }: CitableWork): string | undefined {
  if (!observed || digest === null) return undefined;
  const archive = (url === undefined ? publisher : new URL(url).hostname).replace(NOT_IN_ARCHIVE_ID, '-');
  const address = observed.address.replace(NOT_IN_URN, encodeURIComponent);
  return `urn:pwid:${archive}:${toSeconds(observed.at)}:${observed.precision}:${address}`;
}

/**
 * Returns the Robust Link to an observed version (https://robustlinks.mementoweb.org/spec): a link to the address that also
 * says where the version is archived, and of when it is. Undefined if there is no version.
 */
export function robustLink(work: CitableWork): string | undefined {
  const { observed, title } = work;
  const version = work.url ?? urnOf(work);
  if (!observed || work.digest === null) return undefined;
  const { address, at } = observed;
  return html`<a href="${address}" data-originalurl="${address}" data-versionurl="${version}" data-versiondate="${toSeconds(at)}">${title}</a>`
    .text;
}

/** Neither a PWID nor a Robust Link has fractions of a second. */
function toSeconds(instant: string): string {
  return instant.replace(/\.\d+Z$/, 'Z');
}
