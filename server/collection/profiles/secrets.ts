import type { Redirect, SentRequest } from '../../../shared/collection/retrieval.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { isPublicSentHeader, publicHeaders, publicMediaType } from '../record/publicHeaders.ts';
import type { ProfileContent } from './readProfile.ts';

/** A shorter value, such as `1` or `en`, is in many addresses and says nothing. */
const MIN_SECRET = 8;
/** A token in a value that has other words besides, such as JSON. */
const TOKEN = /[A-Za-z0-9_.+~%=-]{16,}/g;
/** The same in Base64, which has slashes. A path begins with one. */
const BASE64_TOKEN = /[A-Za-z0-9_.+~%=/-]{20,}/g;
/** A storage has any number of values; those of cookies are looked for in any case. */
const MAX_STORED_SECRETS = 5_000;
const REMOVED = 'withheld';

/**
 * Finds the values of a profile in what is recorded. Records are public, also those of what is withheld, and a site may
 * repeat a cookie in an address or in a header.
 */
export class Secrets {
  readonly #values = new Set<string>();
  /** The values by their first characters. A long document is read once, however many there are. */
  readonly #byBeginning = new Map<string, string[]>();
  /** Whether a value begins with characters of this hash: nearly nothing in a document does. */
  readonly #hashes = new Uint8Array(HASHES);
  readonly #public: string;

  /** @param address the address of the source: what is in it is public already */
  constructor(content: ProfileContent, address: string) {
    this.#public = address;
    for (const { value } of content.cookies) this.add(value);
    for (const { items } of content.origins)
      for (const [, value] of items) {
        if (this.#values.size >= MAX_STORED_SECRETS) return;
        this.add(value);
      }
  }

  add(value: string): void {
    for (const secret of secretsIn(value)) {
      if (this.#values.has(secret) || this.#public.includes(secret)) continue;
      this.#values.add(secret);
      const beginning = secret.slice(0, MIN_SECRET);
      const same = this.#byBeginning.get(beginning);
      if (same) same.push(secret);
      else this.#byBeginning.set(beginning, [secret]);
      this.#hashes[hashAt(secret, 0)] = 1;
    }
  }

  /** Whether a text has a value of the profile. */
  isIn(text: string): boolean {
    return this.#next(text, 0) !== undefined;
  }

  /** Returns a text without the values of the profile. */
  without(text: string): string {
    let kept = '';
    let end = 0;
    for (let found = this.#next(text, 0); found; found = this.#next(text, end)) {
      kept += text.slice(end, found.at) + REMOVED;
      end = found.at + found.secret.length;
    }
    return kept + text.slice(end);
  }

  /** Returns the first value in a text from a place on; the longest, if several begin there. */
  #next(text: string, from: number): { at: number; secret: string } | undefined {
    if (this.#values.size === 0) return undefined;
    for (let at = from; at <= text.length - MIN_SECRET; at += 1) {
      if (this.#hashes[hashAt(text, at)] === 0) continue;
      let secret = '';
      for (const value of this.#byBeginning.get(text.slice(at, at + MIN_SECRET)) ?? [])
        if (value.length > secret.length && text.startsWith(value, at)) secret = value;
      if (secret !== '') return { at, secret };
    }
    return undefined;
  }

  /** Returns a retrieval as it is recorded: without what belongs to the session, or is for its account only. */
  redacted<
    Retrieval extends Pick<
      NewRetrieval,
      'url' | 'final_url' | 'redirects' | 'headers' | 'request' | 'content_type'
    >,
  >(retrieval: Retrieval): Retrieval {
    const { url, final_url, redirects, headers, request, content_type } = retrieval;
    return {
      ...retrieval,
      url: this.without(url),
      final_url: this.without(final_url),
      redirects: redirects.map(
        (hop): Redirect => ({
          ...hop,
          url: this.without(hop.url),
          ...(hop.headers && { headers: this.#kept(hop.headers) }),
        }),
      ),
      headers: this.#kept(headers),
      content_type: publicMediaType(content_type),
      ...(request && { request: { ...request, headers: this.#sent(request.headers) } }),
    };
  }

  #kept(headers: readonly [string, string][]): [string, string][] {
    return publicHeaders(headers).map(([name, value]) => [name, this.without(value)]);
  }

  #sent(headers: SentRequest['headers']): SentRequest['headers'] {
    return headers.map(([name, value]) => {
      const isPublic = value !== null && isPublicSentHeader(name) && !this.isIn(value);
      return [name, isPublic ? value : null];
    });
  }
}

const HASHES = 65_536;

/** Returns a hash of the four characters at a place of a text. */
function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let next = at; next < at + 4; next += 1) hash = hash * 31 + text.charCodeAt(next);
  return hash % HASHES;
}

/** Returns the texts by which a value would be found again: itself or the tokens in it, as they are, decoded and encoded. */
function* secretsIn(value: string): Generator<string> {
  for (const text of new Set([value, decodedOf(value)]))
    for (const secret of tokensIn(text)) {
      yield secret;
      yield encodeURIComponent(secret.toWellFormed());
    }
}

function* tokensIn(text: string): Generator<string> {
  if (text.length >= MIN_SECRET && !/[\s/]/.test(text)) yield text;
  for (const [token] of text.matchAll(TOKEN)) if (/\d/.test(token)) yield token;
  for (const [token] of text.matchAll(BASE64_TOKEN))
    if (!token.startsWith('/') && [/\d/, /[A-Z]/, /[a-z]/].every((kind) => kind.test(token))) yield token;
}

function decodedOf(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    if (error instanceof URIError) return value;
    throw error;
  }
}
