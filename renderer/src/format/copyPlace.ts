/** Returns the place of a copy as a person writes it: a path, or `s3://bucket/prefix`. */
export function placeOf(target: string): string {
  if (!target.startsWith('file://')) return target;
  const path = target.slice('file://'.length);
  try {
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, '');
  } catch {
    return path;
  }
}

/** Returns the URL of a folder's path; undefined if the path is not absolute. */
export function folderTarget(path: string): string | undefined {
  const slashed = path.trim().replaceAll('\\', '/');
  if (!/^(\/|[A-Za-z]:\/)/.test(slashed)) return undefined;
  const encoded = slashed.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':');
  return `file://${encoded.startsWith('/') ? '' : '/'}${encoded}`;
}
