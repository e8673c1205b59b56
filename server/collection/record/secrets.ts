import type { Redirect, SentRequest } from '../../../shared/collection/retrieval.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import { isPublicSentHeader, publicHeaders, publicMediaType } from './publicHeaders.ts';

/** A shorter value, such as `1` or `en`, is in many addresses and says nothing. */
const MIN_SECRET = 8;
/** A token in a value that has other words besides, such as JSON. */
const TOKEN = /[A-Za-z0-9_.+~%=-]{16,}/g;
/** The same in Base64, which has slashes. A path begins with one. */
const BASE64_TOKEN = /[A-Za-z0-9_.+~%=/-]{20,}/g;
/** A storage has any number of values; those of cookies are looked for in any case. */
const MAX_STORED_SECRETS = 20_000;
/** No address that is recorded has more characters. */
const MAX_IN_ADDRESS = 8_192;
const REMOVED = 'withheld';

/** What a profile keeps. */
interface StoredLogin {
  cookies: readonly { value: string }[];
  origins: readonly { items: readonly (readonly [name: string, value: string])[] }[];
}

/** Headers that browsers send to all sites. Their values are no secrets when the owner configures them. */
const OPEN_OWNER_HEADERS =
  /^(accept|accept-language|cache-control|dnt|origin|pragma|priority|sec-(ch|fetch)-.*|sec-gpc|upgrade-insecure-requests|user-agent|x-requested-with)$/i;

/**
 * Returns the secrets in the requests for a source: those of its login, and the values of the owner's headers. Without any, it
 * returns undefined, and records keep every header of the answers.
 */
export function secretsOf(
  { url, headers }: Pick<SourceRow, 'url' | 'headers'>,
  login: { secrets: Secrets } | undefined,
): Secrets | undefined {
  const own = Object.entries(headers).filter(([name]) => !OPEN_OWNER_HEADERS.test(name));
  if (!login && own.length === 0) return undefined;
  const secrets = login?.secrets ?? new Secrets(url);
  for (const [name, value] of own) secrets.addHeader(name, value);
  return secrets;
}

/**
 * Finds the secrets of a request in the record of the request. Records are public, also those of withheld bytes, and a site may
 * repeat a cookie or a key in an address or in a header.
 */
export class Secrets {
  readonly #values = new Set<string>();
  /** The values by their first characters. A long document is read once, however many there are. */
  readonly #byBeginning = new Map<string, string[]>();
  /** Whether a value begins with characters of this hash: nearly nothing in a document does. */
  readonly #hashes = new Uint8Array(HASHES);
  readonly #public: string;

  /** @param address the address of the source: what is in it is public already */
  constructor(address: string) {
    this.#public = address;
  }

  /** Adds the cookies and the storage of a profile. */
  addProfile({ cookies, origins }: StoredLogin): void {
    for (const { value } of cookies) this.add(value);
    for (const { items } of origins)
      for (const [, value] of items) {
        if (this.#values.size >= MAX_STORED_SECRETS) return;
        this.add(value);
      }
  }

  /** Adds a header of the owner's: its whole value, and the credentials in it. */
  addHeader(name: string, value: string): void {
    for (const part of partsOfHeader(name.toLowerCase(), value)) {
      this.add(part);
      // A whole address or path is no secret, because it would be found in recorded addresses. Tokens in it are.
      if (part.length >= MIN_SECRET && !/^\/|:\/\//.test(part)) this.#note(part);
    }
  }

  /** Adds the cookies that a site sets in response to a secret: they may identify the same session. */
  addCookies(setCookies: readonly string[]): void {
    for (const header of setCookies) this.add(cookieValue(header));
  }

  add(value: string): void {
    for (const secret of secretsIn(value)) this.#note(secret);
  }

  #note(secret: string): void {
    for (const form of formsOf(secret)) {
      if (this.#values.has(form) || this.#public.includes(form)) continue;
      this.#values.add(form);
      const beginning = form.slice(0, MIN_SECRET);
      const same = this.#byBeginning.get(beginning);
      if (same) same.push(form);
      else this.#byBeginning.set(beginning, [form]);
      this.#hashes[hashAt(form, 0)] = 1;
    }
  }

  /** Whether a text contains a secret. */
  isIn(text: string): boolean {
    return this.#next(text, 0) !== undefined;
  }

  /** Returns a text with each secret replaced. */
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

  /** Returns a retrieval as it is recorded: without secrets, and without headers that may be for the owner's account only. */
  redacted<
    Retrieval extends Pick<
      NewRetrieval,
      'url' | 'final_url' | 'redirects' | 'headers' | 'request' | 'content_type' | 'page_label'
    >,
  >(retrieval: Retrieval): Retrieval {
    const { url, final_url, redirects, headers, request, content_type, page_label } = retrieval;
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
      // The reason may quote the title.
      page_label: page_label && { ...page_label, reason: this.without(page_label.reason) },
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

/** Returns the texts by which a value would be found again: itself or the tokens in it, as they are and decoded. */
function* secretsIn(value: string): Generator<string> {
  for (const text of new Set([value, decodedOf(value)])) yield* tokensIn(text);
}

/** Characters that stay as they are when text is written into a query or a path. */
const LEFT_IN_ADDRESSES = /^[\w.~!$&()*+,/:;=@%[\]|-]*$/;

/** Returns a secret as it is, and as addresses have it: each program encodes other characters. */
function formsOf(secret: string): Iterable<string> {
  if (/^[\w.~-]*$/.test(secret)) return [secret];
  const text = secret.toWellFormed();
  const encoded = [encodeURIComponent(text)];
  if (text.length > MAX_IN_ADDRESS) return [secret, ...encoded];
  encoded.push(new URLSearchParams([[text, '']]).toString().slice(0, -1));
  if (!LEFT_IN_ADDRESSES.test(text)) {
    const url = new URL('http://a.example');
    url.search = text;
    url.pathname = text;
    encoded.push(url.search.slice(1), url.pathname.slice(1));
  }
  const small = encoded.map((form) => form.replace(/%[\dA-F]{2}/g, (digits) => digits.toLowerCase()));
  return new Set([secret, ...encoded, ...small].filter(({ length }) => length >= MIN_SECRET));
}

/** Returns the parts of a header of the owner's by which it would be found again. */
function partsOfHeader(name: string, value: string): string[] {
  if (name === 'cookie') return [value, ...value.split(';').map(cookieValue)];
  if (name === 'authorization') {
    const credentials = value.replace(/^\S+\s+/, '');
    const decoded = Buffer.from(credentials, 'base64').toString('utf8');
    const quoted = [...value.matchAll(/"([^"]*)"/g)].map(([, text = '']) => text);
    return [
      value,
      credentials,
      ...quoted,
      ...(/^basic\s/i.test(value) ? [decoded, decoded.replace(/^[^:]*:/, '')] : []),
    ];
  }
  // A word without a digit is taken for an ordinary word.
  const words = value.split(/[\s;,]+/).filter((word) => /\d/.test(word));
  return [value.trim(), ...words, ...words.map((word) => word.replace(/^[^=]*=/, ''))];
}

/** One word, such as `necessary`, is a stored choice and no session, and is found in many texts and addresses. */
const WORD = /^[A-Z]?[a-z]{1,12}$/;

/** Returns the value of a cookie as the headers `Cookie` and `Set-Cookie` have it; empty if it is a word. */
function cookieValue(header: string): string {
  const [pair = ''] = header.split(';');
  const value = pair
    .slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1');
  return WORD.test(value) ? '' : value;
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
