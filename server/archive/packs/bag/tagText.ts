/** The text of `bagit.txt`, exactly as readers expect it. */
export const DECLARATION = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';

/** A line of a manifest. Two spaces separate digest and path, so that `sha256sum -c` can read it. */
export function manifestLine(digest: string, path: string): string {
  return `${digest}  ${path}\n`;
}

/** The text of `bag-info.txt`. Labels without a value are left out. */
export function infoText(lines: readonly (readonly [label: string, value: string])[]): string {
  return lines
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}: ${value}\n`)
    .join('');
}

/** Values of `bag-info.txt` must be one line, for all characters that readers may treat as a line break. */
export function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
