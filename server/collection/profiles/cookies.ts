import { getDomain, parse } from 'tldts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import type { BrowserCookie } from '../../browser/browserLogin.ts';

export type Cookie = BrowserCookie;

/** The longest name with its value, as browsers accept it. */
const MAX_COOKIE_CHARACTERS = 4_096;
/** The longest time for which a cookie is kept. */
const MAX_AGE_MS = 400 * 86_400_000;

const CONTROL = /[\p{Cc}]/u;

/** Whether a cookie can be sent in a header. */
export function isValidCookie({ name, value, path }: Pick<Cookie, 'name' | 'value' | 'path'>): boolean {
  if (name.length + value.length > MAX_COOKIE_CHARACTERS || name + value === '') return false;
  return (
    !/[=;\s]/.test(name) &&
    !value.includes(';') &&
    !CONTROL.test(name + value + path) &&
    path.startsWith('/') &&
    !path.includes(';')
  );
}

/** Whether a cookie is sent to an address (RFC 6265, section 5.4). */
function isSentTo(cookie: Cookie, url: URL, now: number): boolean {
  if (cookie.expires !== null && cookie.expires <= now) return false;
  if (cookie.secure && url.protocol !== 'https:') return false;
  return matchesHost(cookie, url.hostname) && matchesPath(cookie.path, url.pathname);
}

function matchesHost({ domain, hostOnly }: Cookie, hostname: string): boolean {
  return hostname === domain || (!hostOnly && isBelow(hostname, domain));
}

/** Whether a host name is below a domain. An IP address is below nothing. */
function isBelow(hostname: string, domain: string): boolean {
  return hostname.endsWith(`.${domain}`) && !/^[\d.]+$/.test(hostname) && !hostname.includes(':');
}

function matchesPath(path: string, asked: string): boolean {
  if (asked === path) return true;
  return asked.startsWith(path) && (path.endsWith('/') || asked[path.length] === '/');
}

/** Returns the value of the header `Cookie` for an address; undefined if no cookie is sent there. */
export function cookieHeader(cookies: readonly Cookie[], url: URL, now: number): string | undefined {
  const sent = cookies
    .filter((cookie) => isSentTo(cookie, url, now))
    // Longer paths come first.
    .sort((left, right) => right.path.length - left.path.length);
  return sent.length === 0 ? undefined : sent.map(pairOf).join('; ');
}

/** Returns a cookie as it is sent. Other characters than those of a header are sent as UTF-8. */
export function pairOf({ name, value }: Pick<Cookie, 'name' | 'value'>): string {
  const pair = name === '' ? value : `${name}=${value}`;
  return /[^\t\x20-\xff]/.test(pair) ? Buffer.from(pair, 'utf8').toString('latin1') : pair;
}

/**
 * Reads the value of a header `Set-Cookie` (RFC 6265, section 5.2 and 5.3). Returns undefined if a browser would refuse it. A
 * cookie that has expired already ends the one that it names.
 */
export function readSetCookie(header: string, url: URL, now: number): Cookie | undefined {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  const name = equals < 0 ? '' : pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  const cookie: Cookie = {
    name,
    value,
    domain: url.hostname,
    hostOnly: true,
    path: defaultPath(url),
    secure: false,
    httpOnly: false,
    sameSite: null,
    expires: null,
  };
  let maxAge: number | undefined;
  for (const attribute of attributes) {
    const [key = '', ...rest] = attribute.split('=');
    const given = rest.join('=').trim();
    const read = ATTRIBUTES.get(key.trim().toLowerCase());
    if (read) read(cookie, given, url);
    else if (/^\s*max-age\s*$/i.test(key) && /^-?\d+$/.test(given)) maxAge = Number(given);
  }
  // A cookie for a host that this one is not below.
  if (cookie.domain !== url.hostname && !isBelow(url.hostname, cookie.domain)) return undefined;
  if (maxAge !== undefined) cookie.expires = maxAge <= 0 ? 0 : now + maxAge * 1000;
  if (cookie.expires !== null) cookie.expires = Math.min(cookie.expires, now + MAX_AGE_MS);
  return isAcceptable(cookie, url) ? cookie : undefined;
}

/** What the attributes of a cookie say, by their names in lower case. */
const ATTRIBUTES = new Map<string, (cookie: Cookie, given: string, url: URL) => void>(
  Object.entries({
    expires: (cookie: Cookie, given: string) => {
      const at = Date.parse(given.replaceAll('-', ' '));
      if (!Number.isNaN(at)) cookie.expires = at;
    },
    domain: (cookie: Cookie, given: string) => {
      const domain = given.replace(/^\./, '').toLowerCase();
      if (domain === '') return;
      cookie.domain = domain;
      // An IP address is a host and has nothing below it.
      cookie.hostOnly = /^[\d.]+$/.test(domain) || domain.includes(':');
    },
    path: (cookie: Cookie, given: string, url: URL) => {
      cookie.path = given.startsWith('/') ? given : defaultPath(url);
    },
    secure: (cookie: Cookie) => {
      cookie.secure = true;
    },
    httponly: (cookie: Cookie) => {
      cookie.httpOnly = true;
    },
    samesite: (cookie: Cookie, given: string) => {
      cookie.sameSite = sameSiteOf(given);
    },
  }),
);

function isAcceptable(cookie: Cookie, url: URL): boolean {
  const { name, secure, hostOnly, path } = cookie;
  // A plain connection must not replace what an encrypted one keeps.
  if (secure && url.protocol !== 'https:') return false;
  if (/^__secure-/i.test(name) && !secure) return false;
  if (/^__host-/i.test(name) && !(secure && hostOnly && path === '/')) return false;
  return isValidCookie(cookie);
}

/**
 * Whether a cookie that came over a plain connection would be sent in the place of one that only encrypted connections get
 * (RFC 6265bis, section 5.7). Whoever is between could end the session, or put another one in its place.
 */
export function hidesSecure(cookies: readonly Cookie[], set: Cookie, url: URL): boolean {
  if (url.protocol === 'https:') return false;
  return cookies.some(
    ({ secure, name, domain, path }) =>
      secure &&
      name === set.name &&
      (domain === set.domain || isBelow(domain, set.domain) || isBelow(set.domain, domain)) &&
      matchesPath(path, set.path),
  );
}

/** Returns a value of `SameSite` as it is usually spelt; null if it is another. */
export function sameSiteOf(given: string | null | undefined): Cookie['sameSite'] {
  switch (given?.toLowerCase()) {
    case 'strict':
      return 'Strict';
    case 'lax':
      return 'Lax';
    case 'none':
    case 'no_restriction':
      return 'None';
    default:
      return null;
  }
}

function defaultPath({ pathname }: URL): string {
  const end = pathname.lastIndexOf('/');
  return end <= 0 ? '/' : pathname.slice(0, end);
}

/** Returns cookies after one was set: it replaces the one of the same name, domain and path, or ends it. */
export function withCookie(cookies: readonly Cookie[], set: Cookie, now: number, most: number): Cookie[] {
  const others = cookies.filter(
    (cookie) =>
      (cookie.name !== set.name || cookie.domain !== set.domain || cookie.path !== set.path) &&
      (cookie.expires === null || cookie.expires > now),
  );
  if (set.expires !== null && set.expires <= now) return others;
  return [...others, set].slice(-most);
}

/*
 * A site is the name under which it is registered, such as `example.co.uk`. An IP address, or a name without a domain such
 * as `localhost`, is a site by itself; different programs often listen there, so the port belongs to it if it is given:
 * `127.0.0.1:8080`.
 */

const BY_SUFFIX_LIST = { allowPrivateDomains: true };

/** Returns the registered domain of a host name, or the host name itself if it has none. */
export function domainOf(hostname: string): string {
  return getDomain(hostname, BY_SUFFIX_LIST) ?? hostname;
}

/** Returns the site that a person named, by its name or by an address of it; undefined if it is none. */
export function siteNamed(given: string): string | undefined {
  const text = given.trim();
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text.replace(/^\./, '')}`;
  const url = isHttpUrl(address) ? new URL(address) : undefined;
  if (!url || url.username !== '' || url.password !== '') return undefined;
  const { hostname, host } = url;
  const { domain, publicSuffix, isIcann, isPrivate } = parse(hostname, BY_SUFFIX_LIST);
  // Whoever registers a name below a public suffix would get the cookies.
  if (domain === null && publicSuffix === hostname && (isIcann || isPrivate)) return undefined;
  return domain ?? host;
}

/** Whether an address belongs to a site. */
export function isOfSite(url: URL, site: string): boolean {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  return domainOf(url.hostname) === site || (domainOf(url.hostname) === url.hostname && url.host === site);
}

/** Whether a cookie of this domain belongs to a site. Cookies have no port. */
export function isDomainOfSite(domain: string, site: string): boolean {
  return domainOf(domain) === hostOfSite(site);
}

/** Returns a site without its port. */
export function hostOfSite(site: string): string {
  return site.replace(/:\d+$/, '');
}
