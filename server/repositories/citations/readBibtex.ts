import { doiIn, firstText, orcidIn } from '../fields.ts';
import { type BibtexEntry, readBibtexEntries } from './bibtexEntries.ts';
import {
  type Citation,
  doiOfReference,
  kindOf,
  nameAndOrcid,
  type ReadCitations,
  splitKeywords,
  yearIn,
} from './citationFormats.ts';
import { commandsIn, type LatexOptions, latexText } from './latexText.ts';

/** Warnings that are listed. */
const MAX_NAMED = 20;
const MAX_NAMED_COMMANDS = 10;
/** How many characters the commands that a file defines may add to all of its values. */
const MAX_EXPANDED_CHARACTERS = 2_000_000;

/**
 * Reads BibTeX and BibLaTeX. An entry that is written wrongly is left out and said; the others are read.
 *
 * Source: http://www.bibtex.org/Format/, and the manual of BibLaTeX for its fields, names and the inheritance of fields
 */
export function readBibtex(text: string): ReadCitations {
  const { entries, preambles, warnings } = readBibtexEntries(text);
  const byKey = new Map(entries.map((entry) => [entry.key.toLowerCase(), entry] as const).reverse());
  const unknown = new Set<string>();
  const options = {
    commands: commandsIn(preambles),
    budget: { left: MAX_EXPANDED_CHARACTERS },
    onUnknown: (name: string) => void unknown.add(name),
  };
  const citations = entries
    // They hold fields for other entries.
    .filter(({ type }) => type !== 'xdata')
    .map((entry) => citationOf(entry, inherited(entry, byKey, warnings), options));
  if (options.budget.left <= 0)
    warnings.push('The commands that the file defines make its values too long: not all were used.');
  if (unknown.size > 0) {
    const named = [...unknown].slice(0, MAX_NAMED_COMMANDS).map((name) => `\\${name}`);
    const more = unknown.size > named.length ? ` and ${unknown.size - named.length} others` : '';
    warnings.push(`Commands of LaTeX that are not known were left out: ${named.join(', ')}${more}.`);
  }
  const more = warnings.length - MAX_NAMED;
  return {
    citations,
    warnings: more > 0 ? [...warnings.slice(0, MAX_NAMED), `And ${more} more such remarks.`] : warnings,
  };
}

/** What an entry takes from the entry that `crossref` names. A DOI, an abstract and keywords are those of that entry alone. */
const INHERITED = ['title', 'author', 'year', 'date'];

/** Returns the fields of an entry, with those of the entries that its `crossref` and `xdata` name. */
function inherited(
  { fields, line }: BibtexEntry,
  byKey: ReadonlyMap<string, BibtexEntry>,
  warnings: string[],
): ReadonlyMap<string, string> {
  const named = [
    ...(fields.get('xdata') ?? '').split(',').map((key) => ({ key, names: undefined })),
    { key: fields.get('crossref') ?? '', names: INHERITED },
  ];
  const all = new Map(fields);
  for (const { key, names } of named) {
    const wanted = key.trim();
    if (wanted === '') continue;
    const from = byKey.get(wanted.toLowerCase())?.fields;
    if (from) {
      for (const name of names ?? from.keys()) {
        const value = from.get(name);
        // A year and a date say the same.
        const isThere =
          all.has(name) || (/^(year|date)$/.test(name) && (fields.has('year') || fields.has('date')));
        if (value !== undefined && !isThere) all.set(name, value);
      }
    } else
      warnings.push(
        `The entry in line ${line} refers to “${wanted.slice(0, 100)}”, which is not in the file.`,
      );
  }
  return all;
}

function citationOf(
  { type }: BibtexEntry,
  fields: ReadonlyMap<string, string>,
  options: LatexOptions,
): Citation {
  const plain = (...names: string[]) =>
    latexText(firstText(...names.map((name) => fields.get(name))), options);
  const names = splitNames(fields.get('author') ?? '').map((name) => nameAndOrcid(nameOf(name, options)));
  const orcidOf = orcidsOf(plain('orcid', 'orcid-numbers'), names.length);
  const subtitle = plain('subtitle');
  const title = plain('title');
  return {
    kind: kindOf(type),
    title: subtitle === '' ? title : `${title}: ${subtitle}`,
    authors: names.map(({ name, orcid }, index) => ({
      name,
      orcid: orcid ?? orcidOf(name, index),
      affiliation: '',
    })),
    summary: plain('abstract'),
    keywords: splitKeywords(plain('keywords', 'keyword')),
    doi: doiOf(fields, options),
    year: yearIn(plain('year')) ?? yearIn(plain('date')),
  };
}

/** The fields that may be a DOI, as such or as the address of a resolver. */
const DOI_FIELDS = ['doi', 'url', 'ee', 'howpublished', 'eprint', 'note'];

function doiOf(fields: ReadonlyMap<string, string>, { commands, budget }: LatexOptions): string | null {
  for (const name of DOI_FIELDS) {
    const value = fields.get(name) ?? '';
    // Of a link, its address counts.
    const written = value.replace(/\\href\s*\{((?:[^{}\\]|\\[\s\S]|\{[^{}]*\})*)\}\s*\{[^{}]*\}/g, '$1');
    const text = latexText(written, { ...(commands && budget && { commands, budget }), isVerbatim: true });
    const doi = doiOfReference(text) ?? doiIn(value);
    if (doi !== null) return doi;
  }
  return null;
}

/**
 * Reads the field in which some programs write ORCID iDs: one for each author in their order, or `Name/iD` for some of them.
 */
function orcidsOf(field: string, authors: number): (name: string, index: number) => string | null {
  const found = [...field.matchAll(/(?:([^/\d;]{1,200})\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])/g)];
  const byFamily = new Map(found.map(([, name = '', orcid]) => [familyOf(name), orcid]));
  const inOrder = found.length === authors ? found.map(([, , orcid]) => orcid) : [];
  return (name, index) => orcidIn(byFamily.get(familyOf(name)) ?? inOrder[index]);
}

/** A name is `Family, Given`, or is compared as a whole. */
function familyOf(name: string): string {
  return (name.split(',', 1)[0] ?? '').trim().toLowerCase();
}

const NAME_PART = /^\s*"?\s*(family|given|prefix|suffix|useprefix|[a-z]+-i)\s*=\s*([\s\S]*?)"?\s*$/i;

/** Returns a name as plain text; of the extended format of BibLaTeX, `prefix family, given, suffix`. */
function nameOf(written: string, options: LatexOptions): string {
  const parts = splitOutsideBraces(written, (rest) => (rest.startsWith(',') ? 1 : 0)).map((part) =>
    NAME_PART.exec(part),
  );
  if (parts.length === 0 || parts.some((part) => part === null)) return latexText(written, options);
  const valueOf = new Map(
    parts.map((part) => [part?.[1]?.toLowerCase(), latexText(part?.[2] ?? '', options)]),
  );
  const of = (name: string) => valueOf.get(name) ?? '';
  return [[of('prefix'), of('family')].filter(Boolean).join(' '), of('given'), of('suffix')]
    .filter(Boolean)
    .join(', ');
}

/** Splits a list of names at the word “and” outside of braces. */
function splitNames(list: string): string[] {
  return splitOutsideBraces(list, (rest) => (/^\sand\s/i.test(rest) ? 4 : 0))
    .map((name) => name.trim())
    .filter((name) => name !== '' && name.toLowerCase() !== 'others');
}

/** @param separator returns the length of the separator that a text begins with, or 0 */
function splitOutsideBraces(list: string, separator: (rest: string) => number): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < list.length; index += 1) {
    const character = list[index];
    if (character === '\\') index += 1;
    else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    else if (depth === 0) {
      const length = separator(list.slice(index, index + 5));
      if (length === 0) continue;
      parts.push(list.slice(start, index));
      start = index + length;
      index = start - 1;
    }
  }
  parts.push(list.slice(start));
  return parts;
}
