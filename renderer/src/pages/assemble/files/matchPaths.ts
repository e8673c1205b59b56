import { foldedPath } from '../../../../../shared/archive/filePath.ts';

/**
 * Returns the path in the pack for each dropped file, in the same order. A file that the pack already has, with or
 * without the name of the dropped folder, gets the path that it has there, so that it replaces that file. The others of
 * the same folder move with it; files of a folder without any match keep their paths.
 *
 * Letter case, Unicode normalization, `./` and Windows separators make no difference. Files get the same path only if
 * their dropped paths are the same in this sense.
 */
export function matchPaths(dropped: readonly string[], known: readonly string[]): string[] {
  const index = new Map(known.map((path) => [foldedPath(path), path]));
  const roots = prefixesOf(commonFolder(known.map((path) => path.split('/'))));
  const normal = dropped.map(normalPath);
  const groups = [...Map.groupBy(normal, groupOf)].map(([, paths]) => ({
    paths,
    move: bestMove(paths, roots, index),
  }));
  const own = new Map(normal.map((path) => [foldedPath(path), groupOf(path)]));
  const taken = new Set<string>();
  const targets = new Map<string, string>();
  for (const { paths, move } of groups) {
    const moved = [...new Set(paths)].map((path): [string, string] => [path, movedBy(move, path)]);
    // Two dropped folders must not end up in the same place: then the second stays where it is.
    const isFree = moved.every(([path, target]) => {
      const key = foldedPath(target);
      const owner = own.get(key) ?? groupOf(path);
      return key === foldedPath(path) || (!taken.has(key) && owner === groupOf(path));
    });
    for (const [path, target] of isFree ? moved : moved.map(([path]) => [path, path] as const)) {
      const key = foldedPath(target);
      taken.add(key);
      targets.set(path, index.get(key) ?? target);
    }
  }
  return normal.map((path) => targets.get(path) ?? path);
}

/** Returns a path as a pack would have it: in normal form C, with `/`, without empty and `.` segments. */
function normalPath(path: string): string {
  const segments = path.normalize('NFC').replaceAll('\\', '/').split('/');
  return segments.filter((segment) => segment !== '' && segment !== '.').join('/');
}

/** How a dropped folder is placed in the pack: without its first folders, below another one. */
interface Move {
  without: number;
  below: string;
}

const STAY: Move = { without: 0, below: '' };

function movedBy({ without, below }: Move, path: string): string {
  return below + path.split('/').slice(without).join('/');
}

/** Returns the move that matches the most files. Without a match, and for a folder that the pack has too, files stay. */
function bestMove(
  paths: readonly string[],
  roots: readonly string[],
  index: ReadonlyMap<string, string>,
): Move {
  let best = STAY;
  let matches = matchesOf(STAY, paths, index);
  if (matches === 0 && hasFolder(topFolder(paths[0] ?? ''), index)) return STAY;
  const folder = commonFolder(paths.map((path) => path.split('/')));
  for (let without = 0; without <= folder.length; without += 1) {
    for (const below of roots) {
      const move = { without, below };
      const found = matchesOf(move, paths, index);
      if (found > matches) [best, matches] = [move, found];
    }
  }
  return best;
}

function matchesOf(move: Move, paths: readonly string[], index: ReadonlyMap<string, string>): number {
  return paths.filter((path) => index.has(foldedPath(movedBy(move, path)))).length;
}

function hasFolder(folder: string, index: ReadonlyMap<string, string>): boolean {
  if (folder === '') return false;
  const start = `${foldedPath(folder)}/`;
  return [...index.keys()].some((key) => key.startsWith(start));
}

function topFolder(path: string): string {
  return path.slice(0, Math.max(0, path.indexOf('/')));
}

function groupOf(path: string): string {
  return foldedPath(topFolder(path));
}

/** Returns the segments of the deepest folder that contains all files. */
function commonFolder(paths: readonly (readonly string[])[]): string[] {
  const [first, ...rest] = paths;
  let folder = first?.slice(0, -1) ?? [];
  for (const path of rest) {
    const depth = folder.findIndex((segment, at) => at >= path.length - 1 || isOther(path[at], segment));
    if (depth !== -1) folder = folder.slice(0, depth);
  }
  return folder;
}

function isOther(left: string | undefined, right: string): boolean {
  return left === undefined || foldedPath(left) !== foldedPath(right);
}

/** `['a', 'b']` becomes `['', 'a/b/', 'a/']`. */
function prefixesOf(folder: readonly string[]): string[] {
  return ['', ...folder.map((_, at) => `${folder.slice(0, folder.length - at).join('/')}/`)];
}

/**
 * A title from the name of the folder that contains all files, or of the only file: `sea-level_2026` becomes `Sea level
 * 2026`. Undefined if there is neither. Hyphens between digits stay, because they are part of a date.
 */
export function suggestedTitle(paths: readonly string[]): string | undefined {
  const words = nameOfAll(paths)
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

/** The name of the folder that contains all files, or of the only file without its ending; empty if there is neither. */
function nameOfAll(paths: readonly string[]): string {
  const first = paths[0] ?? '';
  const folder = first.slice(0, first.indexOf('/') + 1);
  if (folder !== '') return paths.every((path) => path.startsWith(folder)) ? folder.slice(0, -1) : '';
  return paths.length === 1 ? first.replace(/(?<=.)\.[^.]*$/, '') : '';
}
