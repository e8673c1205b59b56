/** Authors on one line: `Ada Lovelace, Alan Turing and 3 more`. */
export function authorsLine(authors: readonly { name: string }[], shown = 2): string {
  const names = authors.slice(0, shown).map((author) => author.name);
  const more = authors.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** A DataCite relation as text: `IsSupplementTo` as `is supplement to`. */
export function relationLabel(relation: string): string {
  return relation.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

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

/** An archived object, and optionally the retrieval to show it as. */
export interface ShownObject {
  sha256: string;
  /** The id of its source. */
  source?: string | undefined;
  /** The time of the capture: `original_observed_at` if there is one, else `observed_at`. */
  at?: string | undefined;
}

/** Returns the path of the page that shows an archived object. */
export function viewPath({ sha256, source, at }: ShownObject): string {
  const query = new URLSearchParams({ ...(source && { source }), ...(at && { at }) }).toString();
  return `/view/${sha256}${query && `?${query}`}`;
}

/** Returns the time of a capture: when it was made, or else when this node retrieved it. */
export function captureTime(of: { observed_at: string; original_observed_at: string | null }): string {
  return of.original_observed_at ?? of.observed_at;
}
