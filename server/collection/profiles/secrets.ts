import type { Redirect, SentRequest } from '../../../shared/collection/retrieval.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { WITHHELD_HEADERS } from '../fetch/fetchObject.ts';
import type { ProfileContent } from './readProfile.ts';

/** A shorter value, such as `1` or `en`, is in many addresses and says nothing. */
const MIN_SECRET = 8;
/** Words that a value may have besides: a path, or JSON around a token. */
const TOKEN = /[A-Za-z0-9_.+~%=-]{16,}/g;
const MAX_SECRETS = 5_000;
/** Headers by which sites send what belongs to a session. */
const SESSION_HEADER = /token|csrf|xsrf|session|jwt|secret|api-?key|^www-authenticate$/i;
const REMOVED = 'withheld';

/**
 * Finds the values of a profile in what is recorded. Records are public, also those of what is withheld, and a site may
 * repeat a cookie in an address or in a header.
 */
export class Secrets {
  readonly #values = new Set<string>();
  readonly #public: string;
  #pattern: RegExp | undefined;

  /** @param address the address of the source: what is in it is public already */
  constructor(content: ProfileContent, address: string) {
    this.#public = address;
    for (const { value } of content.cookies) this.add(value);
    for (const { items } of content.origins) for (const [, value] of items) this.add(value);
  }

  add(value: string): void {
    for (const secret of secretsIn(value)) {
      if (this.#values.size >= MAX_SECRETS || this.#public.includes(secret)) continue;
      this.#values.add(secret);
    }
    this.#pattern = undefined;
  }

  /** Whether a text has a value of the profile. */
  isIn(text: string): boolean {
    return this.#values.size > 0 && text.search(this.#compiled()) >= 0;
  }

  /** Returns a text without the values of the profile. */
  without(text: string): string {
    return this.#values.size === 0 ? text : text.replace(this.#compiled(), REMOVED);
  }

  #compiled(): RegExp {
    this.#pattern ??= new RegExp(
      [...this.#values]
        .sort((left, right) => right.length - left.length)
        .map((value) => value.replace(/[$()*+.?[\\\]^{|}-]/g, '\\$&'))
        .join('|'),
      'g',
    );
    return this.#pattern;
  }

  /** Returns a retrieval as it is recorded: without what belongs to the session. */
  redacted<Retrieval extends Pick<NewRetrieval, 'url' | 'final_url' | 'redirects' | 'headers' | 'request'>>(
    retrieval: Retrieval,
  ): Retrieval {
    const { url, final_url, redirects, headers, request } = retrieval;
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
      ...(request && { request: { ...request, headers: this.#sent(request.headers) } }),
    };
  }

  #kept(headers: readonly [string, string][]): [string, string][] {
    return headers
      .filter(([name]) => !WITHHELD_HEADERS.test(name) && !SESSION_HEADER.test(name))
      .map(([name, value]) => [name, this.without(value)]);
  }

  #sent(headers: SentRequest['headers']): SentRequest['headers'] {
    return headers.map(([name, value]) => {
      const isSecret =
        WITHHELD_HEADERS.test(name) || SESSION_HEADER.test(name) || (value !== null && this.isIn(value));
      return [name, isSecret ? null : value];
    });
  }
}

/** Returns the texts by which a value would be found again: itself, decoded and encoded, or the tokens in it. */
function* secretsIn(value: string): Generator<string> {
  const decoded = decodedOf(value);
  for (const text of new Set([value, decoded])) {
    if (text.length >= MIN_SECRET && !/[\s/]/.test(text)) {
      yield text;
      yield encodeURIComponent(text.toWellFormed());
    }
    for (const [token] of text.matchAll(TOKEN)) if (/\d/.test(token)) yield token;
  }
}

function decodedOf(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    if (error instanceof URIError) return value;
    throw error;
  }
}
