import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../shared/problems.ts';

/** What a representation is known by. */
export interface Validators {
  /** A strong entity tag, with its quotes. */
  etag: string;
  /** In milliseconds, whole seconds. */
  lastModified: number | undefined;
}

/**
 * If-Match and If-Unmodified-Since (RFC 9110, section 13.1).
 *
 * @throws Problem `precondition_failed`
 */
export function requirePreconditions(request: IncomingMessage, { etag, lastModified }: Validators): void {
  const { 'if-match': ifMatch, 'if-unmodified-since': ifUnmodifiedSince } = request.headers;
  const since = dateOf(ifUnmodifiedSince);
  const holds =
    ifMatch !== undefined
      ? ifMatch.trim() === '*' || entityTags(ifMatch).includes(etag)
      : since === undefined || lastModified === undefined || lastModified <= since;
  if (!holds) throw new Problem('precondition_failed', 'What is here now is not what you ask for.');
}

/** Whether the copy that the client holds is this one: If-None-Match, or If-Modified-Since where there is no tag. */
export function isFresh(request: IncomingMessage, { etag, lastModified }: Validators): boolean {
  const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = request.headers;
  if (ifNoneMatch !== undefined) {
    return (
      ifNoneMatch.trim() === '*' || entityTags(ifNoneMatch).some((tag) => tag === etag || tag === `W/${etag}`)
    );
  }
  const since = dateOf(ifModifiedSince);
  return since !== undefined && lastModified !== undefined && lastModified <= since;
}

/** Whether a Range may be answered with a part: there is no If-Range, or it names exactly what is here. */
export function ifRangeMatches(request: IncomingMessage, { etag, lastModified }: Validators): boolean {
  const ifRange = request.headers['if-range'];
  if (ifRange === undefined) return true;
  if (typeof ifRange !== 'string') return false;
  const text = ifRange.trim();
  if (text.startsWith('"') || text.startsWith('W/')) return text === etag;
  return lastModified !== undefined && dateOf(text) === lastModified;
}

function entityTags(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

function dateOf(header: string | undefined): number | undefined {
  const date = Date.parse(header ?? '');
  return Number.isNaN(date) ? undefined : date;
}
