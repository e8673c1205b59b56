import { MAX_PROFILE_COOKIES } from '../../../shared/collection/profile.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { type ProfileRow, profileById, updateContent } from '../../store/sqlite/collection/profiles.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { LoginCookies } from '../fetch/requester.ts';
import { type Cookie, cookieHeader, hidesSecure, pairOf, readSetCookie, withCookie } from './cookies.ts';
import type { ProfileContent } from './readProfile.ts';
import { seal, unseal } from './sealing.ts';
import { Secrets } from './secrets.ts';
import { isDomainOfSite, isOfSite } from './site.ts';

/** The most that is read of the headers `Set-Cookie` of one response. */
const MAX_SET_COOKIES = 100;

interface OpenedProfile {
  row: ProfileRow;
  key: Buffer;
  content: ProfileContent;
  /** The address of the source that is watched with it. */
  address: string;
  read: ReadDatabase;
  clock: Pick<Clock, 'now'>;
}

/**
 * A profile while a source is checked with it, or its page is drawn: gives its cookies to its site only, and notes those
 * that the site sets.
 */
export class ProfileSession implements LoginCookies {
  readonly secrets: Secrets;
  readonly #profile: OpenedProfile;
  readonly #set: Cookie[] = [];
  #cookies: readonly Cookie[];

  constructor(profile: OpenedProfile) {
    this.#profile = profile;
    this.#cookies = profile.content.cookies;
    this.secrets = new Secrets(profile.content, profile.address);
  }

  get id(): string {
    return this.#profile.row.id;
  }

  isOfSite(url: URL): boolean {
    return isOfSite(url, this.#profile.row.site);
  }

  /** The cookies, for a browser. */
  get cookies(): readonly Cookie[] {
    return this.#cookies;
  }

  /** The local storage by origin, for a browser. */
  get origins(): ProfileContent['origins'] {
    return this.#profile.content.origins;
  }

  /** Takes over the cookies that other checks have kept meanwhile: the site may no longer accept those before them. */
  refresh(): void {
    const { row, key, read, clock } = this.#profile;
    const current = profileById(read, row.id);
    if (current?.version !== row.version || current.sealed.equals(row.sealed)) return;
    this.#profile.row = current;
    this.#cookies = unseal(key, row.id, current.sealed).cookies;
    for (const { value } of this.#cookies) this.secrets.add(value);
    for (const cookie of this.#set)
      this.#cookies = withCookie(this.#cookies, cookie, clock.now(), MAX_PROFILE_COOKIES);
  }

  headerFor(url: URL): string | undefined {
    return this.isOfSite(url) ? cookieHeader(this.#cookies, url, this.#profile.clock.now()) : undefined;
  }

  /** Returns a header `Cookie` of a browser without the cookies of the profile that are not sent to this address. */
  allowed(url: URL, header: string): string {
    const sent = new Set((this.headerFor(url) ?? '').split('; '));
    const own = new Set(this.#cookies.map(pairOf));
    return header
      .split('; ')
      .filter((pair) => !own.has(pair) || sent.has(pair))
      .join('; ');
  }

  receive(url: URL, headers: readonly (readonly [string, string])[]): void {
    if (!this.isOfSite(url)) return;
    const now = this.#profile.clock.now();
    const given = headers.filter(([name]) => name.toLowerCase() === 'set-cookie').slice(0, MAX_SET_COOKIES);
    for (const [, header] of given) {
      const cookie = readSetCookie(header, url, now);
      // One for all sites below a public suffix is not of this site.
      if (!cookie || !isDomainOfSite(cookie.domain, this.#profile.row.site)) continue;
      if (hidesSecure(this.#cookies, cookie, url)) continue;
      this.#set.push(cookie);
      this.#cookies = withCookie(this.#cookies, cookie, now, MAX_PROFILE_COOKIES);
      this.secrets.add(cookie.value);
    }
  }

  /** Whether the profile is still what it was: the owner may have replaced or deleted it meanwhile. */
  isCurrent(database: WriteDatabase): boolean {
    const { id, version } = this.#profile.row;
    return profileById(database, id)?.version === version;
  }

  /**
   * Keeps the cookies that the site has set, inside the caller's transaction. Others may have kept some meanwhile, so these
   * are added to what is there.
   */
  save(database: WriteDatabase): void {
    if (this.#set.length === 0) return;
    const { row, key, clock } = this.#profile;
    const current = profileById(database, row.id);
    if (!current) return;
    const content = unseal(key, row.id, current.sealed);
    for (const cookie of this.#set)
      content.cookies = withCookie(content.cookies, cookie, clock.now(), MAX_PROFILE_COOKIES);
    updateContent(database, row.id, seal(key, row.id, content));
  }
}
