import { at, doiIn, fields, firstText, list, orcidIn, plainText, textOf } from '../fields.ts';
import {
  type Citation,
  InvalidCitationsError,
  kindOf,
  nameAndOrcid,
  splitKeywords,
  yearIn,
} from './citation.ts';

/**
 * Reads CSL-JSON: a list of items, one item, or an object with `items`.
 *
 * Source: https://github.com/citation-style-language/schema/blob/master/schemas/input/csl-data.json
 *
 * @throws InvalidCitationsError
 */
export function readCslJson(text: string): Citation[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new InvalidCitationsError(
      `It is not JSON: ${error instanceof Error ? error.message.slice(0, 100) : ''}`,
    );
  }
  const items = list(at(json, 'items') ?? json).map(fields);
  const citations = items
    .filter((item) => textOf(item.title) !== '' || item.type !== undefined)
    .map(citationOf);
  if (citations.length === 0) throw new InvalidCitationsError('It has no item with a title.');
  return citations;
}

function citationOf(item: Record<string, unknown>): Citation {
  return {
    kind: kindOf(textOf(item.type)),
    title: plainText(item.title),
    authors: list(item.author).map(authorOf),
    summary: plainText(item.abstract),
    keywords: list(item.keyword).flatMap((words) => splitKeywords(textOf(words))),
    doi: doiIn(firstText(item.DOI, item.doi)) ?? doiIn(item.URL),
    year: yearIn(
      firstText(
        list(list(at(item.issued, 'date-parts'))[0])[0],
        at(item.issued, 'raw'),
        at(item.issued, 'literal'),
      ),
    ),
  };
}

function authorOf(author: unknown): Citation['authors'][number] {
  const value = (name: string) => textOf(at(author, name));
  const family = [value('non-dropping-particle'), value('family')].filter(Boolean).join(' ');
  const given = [value('given'), value('dropping-particle')].filter(Boolean).join(' ');
  const name = [family, given, value('suffix')].filter(Boolean).join(', ');
  const affiliation = list(at(author, 'affiliation'))
    .map((one) => (typeof one === 'string' ? one : textOf(at(one, 'name'))))
    .filter(Boolean)
    .join('; ');
  const written = nameAndOrcid(firstText(name, value('literal'), value('name')));
  return {
    name: written.name,
    orcid:
      orcidIn(firstText(at(author, 'ORCID'), at(author, 'orcid'), at(author, '_orcid'))) ?? written.orcid,
    affiliation,
  };
}
