import {
  type GivenCookie,
  type GivenStorageState,
  MAX_PROFILE_CHARACTERS,
  MAX_PROFILE_COOKIES,
  MAX_PROFILE_ITEMS,
  type ProfileChange,
} from '../../../shared/collection/profile.ts';
import { Problem } from '../../../shared/problems.ts';
import { countOf } from '../../../shared/values/counts.ts';
import {
  type Cookie,
  domainOf,
  hostOfSite,
  isDomainOfSite,
  isOfSite,
  isValidCookie,
  sameSiteOf,
  siteNamed,
} from './cookies.ts';

/** What a profile keeps: the secrets. */
export interface ProfileContent {
  cookies: Cookie[];
  /** The local storage, by origin. */
  origins: { origin: string; items: [name: string, value: string][] }[];
}

type Given = Pick<ProfileChange, 'netscape' | 'storage_state' | 'cookies'>;

/**
 * Reads what was given, and keeps what belongs to one site.
 *
 * @param site the site that was named; if there is none, all cookies must belong to one
 * @throws Problem `invalid_profile`
 */
export function readProfile(
  given: Given,
  site: string | undefined,
  now: number,
): { site: string; content: ProfileContent; left_out: number } {
  const cookies = given.netscape === undefined ? cookiesIn(given) : readNetscape(given.netscape);
  const of = site === undefined ? onlySite(cookies, given.storage_state) : requireSite(site);
  const kept = cookies.flatMap((cookie) => validCookie(cookie, of, now) ?? []);
  const content = { cookies: [...lastOfEach(kept).values()], origins: storageOf(given.storage_state, of) };
  const found = cookies.length + itemsIn(given.storage_state);
  const left_out = found - content.cookies.length - countItems(content);
  requireBounds(content, of);
  return { site: of, content, left_out };
}

/** Returns the number of items of the local storage. */
export function countItems({ origins }: ProfileContent): number {
  return origins.reduce((sum, { items }) => sum + items.length, 0);
}

/** @throws Problem `invalid_profile` if a person named no site */
export function requireSite(given: string): string {
  const site = siteNamed(given);
  if (site === undefined)
    throw invalid('/site', 'Enter one site, such as example.org, or an http or https address of it.');
  return site;
}

/** A cookie as it was given. Its domain has no leading dot. */
interface ReadCookie extends Omit<GivenCookie, 'expires' | 'domain'> {
  domain: string | undefined;
  hostOnly: boolean;
  /** Milliseconds since 1970; null for the end of the session. */
  expires: number | null;
}

function cookiesIn({ cookies, storage_state }: Given): ReadCookie[] {
  return (cookies ?? storage_state?.cookies ?? []).map(({ domain, expires = -1, ...cookie }) => ({
    ...cookie,
    domain: domain?.replace(/^\./, '').toLowerCase(),
    hostOnly: domain !== undefined && !domain.startsWith('.'),
    expires: endOf(expires),
  }));
}

/** The end of the year 9999. Some programs write a later time for a cookie that does not end. */
const END_OF_TIME = 253_402_300_799_999;

/** Returns when a cookie ends in milliseconds, of seconds since 1970; null for the end of the session. */
function endOf(seconds: number): number | null {
  return seconds <= 0 ? null : Math.min(Math.round(seconds * 1000), END_OF_TIME);
}

const HTTP_ONLY = '#HttpOnly_';

/** Reads a Netscape cookie file: seven fields in a line, separated by tabs. @throws Problem `invalid_profile` */
function readNetscape(file: string): ReadCookie[] {
  return file.split(/\r\n|\r|\n/).flatMap((written, index) => {
    const httpOnly = written.startsWith(HTTP_ONLY);
    const line = httpOnly ? written.slice(HTTP_ONLY.length) : written;
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [domain, below, path, secure, expires, name, value = '', ...others] = line.split('\t');
    if (
      domain === undefined ||
      name === undefined ||
      others.length > 0 ||
      !isFlag(below) ||
      !isFlag(secure) ||
      !/^-?\d+(\.\d+)?$/.test(expires ?? '')
    )
      throw invalid(
        '/netscape',
        `Line ${index + 1} is not a cookie: it needs seven fields separated by tabs. Export the file as “Netscape” or “cookies.txt”.`,
      );
    return [
      {
        name,
        value,
        domain: domain.replace(/^\./, '').toLowerCase(),
        hostOnly: below.toUpperCase() === 'FALSE',
        path: path ?? '/',
        secure: secure.toUpperCase() === 'TRUE',
        httpOnly,
        expires: endOf(Number(expires)),
      },
    ];
  });
}

function isFlag(text: string | undefined): text is string {
  return /^(true|false)$/i.test(text ?? '');
}

/** Returns the cookie if it belongs to the site, can be sent and has not expired. */
function validCookie(
  { name, value, domain, hostOnly, path, secure, httpOnly, sameSite, expires }: ReadCookie,
  site: string,
  now: number,
): Cookie | undefined {
  const host = domain ?? hostOfSite(site);
  const cookie: Cookie = {
    name,
    value,
    domain: host,
    // An IP address, or a name without a domain, has nothing below it.
    hostOnly: hostOnly || /^[\d.]+$|:/.test(host) || !host.includes('.'),
    path: path?.startsWith('/') ? path : '/',
    secure: secure ?? false,
    httpOnly: httpOnly ?? false,
    sameSite: sameSiteOf(sameSite),
    expires,
  };
  const isKept =
    isDomainOfSite(cookie.domain, site) && isValidCookie(cookie) && (expires === null || expires > now);
  return isKept ? cookie : undefined;
}

function lastOfEach(cookies: readonly Cookie[]): Map<string, Cookie> {
  return new Map(cookies.map((cookie) => [`${cookie.domain} ${cookie.path} ${cookie.name}`, cookie]));
}

function storageOf(state: GivenStorageState | undefined, site: string): ProfileContent['origins'] {
  return (state?.origins ?? []).flatMap(({ origin, localStorage = [] }) => {
    const url = URL.parse(origin);
    if (!url || !isOfSite(url, site) || localStorage.length === 0) return [];
    return [{ origin: url.origin, items: localStorage.map(({ name, value }) => [name, value] as const) }];
  }) as ProfileContent['origins'];
}

function itemsIn(state: GivenStorageState | undefined): number {
  return (state?.origins ?? []).reduce((sum, { localStorage = [] }) => sum + localStorage.length, 0);
}

/** @throws Problem `invalid_profile` if what was given belongs to several sites, or to none */
function onlySite(cookies: readonly ReadCookie[], state: GivenStorageState | undefined): string {
  const hosts = [
    ...cookies.map(({ domain }) => domain),
    ...(state?.origins ?? []).map(({ origin }) => URL.parse(origin)?.hostname),
  ].flatMap((host) => (host ? [host] : []));
  const sites = [...new Set(hosts.map((host) => domainOf(host)))];
  const [only, ...others] = sites;
  if (only === undefined) throw invalid('/site', 'Name the site, such as example.org.');
  if (others.length > 0)
    throw invalid('/site', `These are the cookies of ${sites.length} sites. Name the one to keep.`);
  return requireSite(only);
}

/** @throws Problem `invalid_profile` */
function requireBounds(content: ProfileContent, site: string): void {
  const [cookies, items] = [content.cookies.length, countItems(content)];
  if (cookies + items === 0)
    throw invalid('/site', `There is nothing of ${site} in it that could still be sent.`);
  if (cookies > MAX_PROFILE_COOKIES)
    throw invalid('/site', `A profile can have ${countOf(MAX_PROFILE_COOKIES, 'cookie')}; ${site} has more.`);
  if (items > MAX_PROFILE_ITEMS)
    throw invalid('/site', `A profile can have ${countOf(MAX_PROFILE_ITEMS, 'item')} of storage.`);
  if (JSON.stringify(content).length > MAX_PROFILE_CHARACTERS)
    throw invalid('/site', `A profile can have ${MAX_PROFILE_CHARACTERS} characters.`);
}

function invalid(path: string, message: string): Problem {
  return new Problem('invalid_profile', message, { errors: [{ path, message }] });
}
