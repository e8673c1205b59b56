import type { NewProfile, Profile } from '../../../shared/collection/profile.ts';

type Content = Pick<NewProfile, 'netscape' | 'storage_state' | 'cookies'>;

/** Tells a cookie file from the storage state of Playwright, and from a list of cookies. @throws Error if it is JSON of another kind */
export function profileContentOf(text: string): Content {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return { netscape: text };
  let json: unknown;
  try {
    json = JSON.parse(trimmed);
  } catch (cause) {
    throw new Error('This begins like JSON, but is not. Was the whole file pasted?', { cause });
  }
  if (Array.isArray(json)) return { cookies: json as NonNullable<Content['cookies']> };
  return { storage_state: json as NonNullable<Content['storage_state']> };
}

/** Whether a profile is for an address. The node decides; this is for the choice. */
export function isForAddress({ site }: Pick<Profile, 'site'>, address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  return url.hostname === site || url.host === site || url.hostname.endsWith(`.${site}`);
}

/** Returns the site that is suggested for an address: its host without `www.`, and with its port on this machine. */
export function suggestedSite(address: string): string {
  const url = URL.parse(address);
  if (!url) return '';
  return /^[\d.]+$|^localhost$|^\[/.test(url.hostname) ? url.host : url.hostname.replace(/^www\./, '');
}
