import type { CitedWork } from './citedWork.ts';
import { fingerprintNote } from './csl.ts';

/**
 * A RIS record: a field a line, each ended with CR and LF. Written here because the library that we compare it with in
 * tests breaks every value into lines of 70 characters, which its readers take for the value's end.
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
