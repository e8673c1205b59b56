import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../shared/problems.ts';

/** The validators of a representation. */
export interface Validators {
  /** A strong entity tag, with its quotes. */
  etag: string;
  /** In milliseconds, rounded to whole seconds. */
  lastModified: number | undefined;
}

/**
 * Checks If-Match and If-Unmodified-Since (RFC 9110, section 13.1).
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
  if (!holds)
    throw new Problem(
      'precondition_failed',
      'The current version does not match If-Match or If-Unmodified-Since.',
    );
}

/** Returns whether the client's cached copy is current: If-None-Match, or If-Modified-Since if there is no tag. */
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

/** Returns whether a Range may be honored: there is no If-Range, or it matches exactly. */
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
