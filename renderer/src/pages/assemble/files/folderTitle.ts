/**
 * A title from the name of the folder that contains all files: `sea-level_2026` becomes `Sea level 2026`. Undefined
 * without such a folder. Hyphens between digits stay, because they are part of a date.
 */
export function folderTitle(paths: readonly string[]): string | undefined {
  const first = paths[0] ?? '';
  const folder = first.slice(0, first.indexOf('/') + 1);
  if (folder === '' || !paths.every((path) => path.startsWith(folder))) return undefined;
  const words = folder
    .slice(0, -1)
    .normalize('NFC')
    .replace(/_+/g, ' ')
    .replace(/(?<!\d)-+|-+(?!\d)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const [letter = ''] = words;
  return words === ''
    ? undefined
    : (letter.toLocaleUpperCase('en') + words.slice(letter.length)).slice(0, 300);
}
