import { LIST_MEDIA_TYPES, type ListFormat } from '../../../../../shared/collection/sourceList.ts';
import { countOf } from '../../../format/size.ts';

/** The name and description of each list format. */
export const LIST_FORMATS: Record<ListFormat, { label: string; description: string }> = {
  text: { label: 'URLs', description: 'One URL per line. Lines that begin with # are comments.' },
  csv: {
    label: 'CSV',
    description:
      'A header with the column url and, optionally, name, agency, tags (separated by ; or |), every_minutes, max_object_mb and ignore_robots.',
  },
  opml: {
    label: 'OPML',
    description: 'The export format of feed readers. The titles of a feed’s groups become its tags.',
  },
};

/** The media type of a list. */
export function listMediaType(form: ListFormat): string {
  return Object.entries(LIST_MEDIA_TYPES).find(([, named]) => named === form)?.[0] ?? 'text/plain';
}

/** Detects the format from the beginning of the text or, if that is ambiguous, from the file name. */
export function detectListFormat(text: string, fileName = ''): ListFormat {
  const beginning = text.replace(/^\uFEFF/, '').trimStart();
  if (beginning.startsWith('<')) return 'opml';
  const [first = ''] = beginning.split(/\r?\n/, 1);
  const cells = first.split(',').map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .toLowerCase(),
  );
  if (cells.includes('url')) return 'csv';
  if (beginning !== '') return 'text';
  return /\.csv$/i.test(fileName) ? 'csv' : /\.(opml|xml)$/i.test(fileName) ? 'opml' : 'text';
}

/** An estimate of the number of entries; the node counts exactly. */
export function listSizeText(text: string, form: ListFormat): string {
  if (form === 'opml') {
    return countOf(text.match(/\b(?:xmlUrl|htmlUrl|url)\s*=/gi)?.length ?? 0, 'URL', 'URLs');
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s*#/.test(line));
  return form === 'csv'
    ? countOf(Math.max(0, lines.length - 1), 'row')
    : countOf(lines.length, 'URL', 'URLs');
}
