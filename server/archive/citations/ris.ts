import type { CitedWork } from './citedWork.ts';
import { fingerprintNote } from './csl.ts';

/**
 * Formats a RIS record: one field per line, with CRLF line ends. It is implemented here because the library used for
 * comparison in the tests wraps values at 70 characters, and readers truncate such values.
 */
export function risRecord(work: CitedWork): string {
  const { year, month, day } = work.date;
  const two = (number: number) => String(number).padStart(2, '0');
  const fields: [string, string | undefined][] = [
    ['TY', work.kind === 'pack' ? 'DATA' : 'GEN'],
    ['ID', work.id],
    ...work.authors.map(({ name }): [string, string] => ['AU', name]),
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
