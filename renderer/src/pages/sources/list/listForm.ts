import { LIST_MEDIA_TYPES, type ListForm } from '../../../../../shared/sourceList.ts';
import { countOf } from '../../../format/size.ts';

/** What each form is called, and how it is written. */
export const LIST_FORMS: Record<ListForm, { word: string; how: string }> = {
  text: { word: 'Addresses', how: 'An address a line. A line that begins with # is a comment.' },
  csv: {
    word: 'CSV',
    how: 'A header that has the column url, and if you like name, agency, tags (parted by ; or |), every_minutes, max_object_mb and ignore_robots.',
  },
  opml: {
    word: 'OPML',
    how: 'What feed readers export. The titles of the groups around a feed become its tags.',
  },
};

/** What a list of this form is sent as. */
export function listMediaType(form: ListForm): string {
  return Object.entries(LIST_MEDIA_TYPES).find(([, named]) => named === form)?.[0] ?? 'text/plain';
}

/** The form of a list by its beginning, and where that leaves it open by the name of its file. */
export function recogniseList(text: string, fileName = ''): ListForm {
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

/** How many entries a list seems to have, in words; the node counts exactly. */
export function sizeWords(text: string, form: ListForm): string {
  if (form === 'opml') {
    return countOf(text.match(/\b(?:xmlUrl|htmlUrl|url)\s*=/gi)?.length ?? 0, 'address', 'addresses');
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s*#/.test(line));
  return form === 'csv'
    ? countOf(Math.max(0, lines.length - 1), 'row')
    : countOf(lines.length, 'address', 'addresses');
}
