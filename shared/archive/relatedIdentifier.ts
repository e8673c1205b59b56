import { isDigest } from '../values/digestPattern.ts';

/** How an identifier of related work names it. */
export type RelatedIdentifier =
  | { kind: 'doi'; doi: string }
  | { kind: 'digest'; digest: string }
  | { kind: 'other' };

/**
 * Recognises a DOI (`10.…`, `doi:10.…` or the URL of a DOI resolver) and a SHA-256 digest with or without the prefix
 * `sha256:`.
 */
export function parseRelatedIdentifier(identifier: string): RelatedIdentifier {
  const doi = /^(?:doi:|https?:\/\/(?:dx\.)?doi\.org\/)?(10\.\d{4,9}\/\S+)$/i.exec(identifier)?.[1];
  if (doi !== undefined) return { kind: 'doi', doi };
  const digest = identifier.replace(/^sha256:/, '');
  return isDigest(digest) ? { kind: 'digest', digest } : { kind: 'other' };
}

/** Returns the URI of a DOI, a URL or a digest. */
export function uriOfIdentifier(identifier: string): string {
  const parsed = parseRelatedIdentifier(identifier);
  switch (parsed.kind) {
    case 'doi':
      return `https://doi.org/${encodeURI(parsed.doi)}`;
    case 'digest':
      return `urn:sha256:${parsed.digest}`;
    case 'other':
      return URL.parse(identifier)?.href ?? identifier;
  }
}
