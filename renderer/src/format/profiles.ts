import type { Profile } from '../../../shared/collection/profile.ts';

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
