import { getDomain, parse } from 'tldts';
import { isHttpUrl } from '../../../shared/values/text.ts';

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
