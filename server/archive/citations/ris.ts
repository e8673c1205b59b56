import type { CitableWork } from './citedWork.ts';
import { fingerprintNote } from './csl.ts';
import { nameParts } from './names.ts';

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
    ...work.authors.map(({ name }): [string, string] => ['AU', authorText(name)]),
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
function authorText(name: string): string {
  const parts = nameParts(name);
  if ('literal' in parts) return parts.literal;
  return [parts.family, parts.given, ...(parts.suffix === undefined ? [] : [parts.suffix])].join(', ');
}
