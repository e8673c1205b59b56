import { doiIn } from '../fields.ts';
import {
  type Citation,
  InvalidCitationsError,
  kindOf,
  nameAndOrcid,
  splitKeywords,
  yearIn,
} from './citation.ts';

const LINE = /^([A-Z][A-Z0-9]) {1,3}- ?(.*)$/;

/**
 * Reads RIS. Lines without a tag continue the one before them, because some programs break long values.
 *
 * Source: https://en.wikipedia.org/wiki/RIS_(file_format), the specification of 2011
 *
 * @throws InvalidCitationsError
 */
export function readRis(text: string): Citation[] {
  const citations: Citation[] = [];
  let entry: Map<string, string[]> | undefined;
  let last: string[] | undefined;
  for (const line of text.split(/\r\n?|\n/)) {
    const [, tag, value = ''] = LINE.exec(line) ?? [];
    if (tag === 'TY') {
      if (entry) citations.push(citationOf(entry));
      entry = new Map();
    }
    if (tag === 'ER') {
      if (entry) citations.push(citationOf(entry));
      entry = undefined;
      last = undefined;
    } else if (entry && tag !== undefined) {
      last = entry.get(tag) ?? [];
      entry.set(tag, last);
      last.push(value.trim());
    } else if (entry && last && line.trim() !== '') last.push(`${last.pop() ?? ''}\n${line.trim()}`);
  }
  if (entry) citations.push(citationOf(entry));
  if (citations.length === 0) throw new InvalidCitationsError('It has no line that begins with “TY  -”.');
  return citations;
}

function citationOf(entry: ReadonlyMap<string, string[]>): Citation {
  const all = (...tags: string[]) => tags.flatMap((tag) => entry.get(tag) ?? []);
  const first = (...tags: string[]) => all(...tags).find((value) => value !== '') ?? '';
  const joined = (value: string) => value.replace(/\s*\n\s*/g, ' ');
  return {
    kind: kindOf(first('TY')),
    title: joined(first('TI', 'T1', 'CT', 'BT')),
    authors: all('AU', 'A1').map((author) => ({ ...nameAndOrcid(joined(author)), affiliation: '' })),
    summary: joined(first('AB', 'N2')),
    keywords: all('KW').flatMap((words) =>
      words.includes('\n') || words.includes(';') ? splitKeywords(words) : [words],
    ),
    doi:
      all('DO', 'UR', 'M3', 'L3')
        .map(doiIn)
        .find((doi) => doi !== null) ?? null,
    year: yearIn(first('PY', 'Y1', 'DA')),
  };
}
