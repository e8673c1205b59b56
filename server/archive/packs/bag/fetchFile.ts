export const FETCH_FILE = 'fetch.txt';

/**
 * Checks `fetch.txt`, which lists files to be downloaded into the bag. Nothing is downloaded.
 *
 * @returns what is wrong with the first invalid line, or undefined
 */
export async function fetchFault(lines: AsyncIterable<readonly string[]>): Promise<string | undefined> {
  let number = 0;
  for await (const some of lines) {
    for (const line of some) {
      number += 1;
      if (line.trim() === '') continue;
      const path = /^\S+[ \t]+(?:\d+|-)[ \t]+(.+)$/su.exec(line)?.[1];
      if (path === undefined) return `line ${number} is not a URL, a length and a path`;
      if (leavesBag(path)) return `the path on line ${number} leaves the bag`;
    }
  }
  return undefined;
}

/**
 * Returns whether a path could lead out of the bag on any system (RFC 8493, section 5.2): it is absolute, has a drive
 * letter or a backslash, begins with a home folder or an environment variable, or has a segment `..`.
 */
export function leavesBag(path: string): boolean {
  return /^[/~%]|^[A-Za-z]:|\\|(?:^|\/)\.\.(?:\/|$)/.test(path);
}
