import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import {
  type KeptProfile,
  MAX_PROFILE_COOKIES,
  type NewProfile,
  type Profile,
  type ProfileChange,
} from '../../../shared/collection/profile.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { orIfMissing, writeFileDurably } from '../../store/files.ts';
import {
  countProfiles,
  deleteProfile,
  hasProfiles,
  insertProfile,
  markUnreadable,
  type ProfileRow,
  profileById,
  profilesPage,
  renameProfile,
  replaceContent,
  type SealedContent,
  shownProfile,
  updateContent,
} from '../../store/sqlite/collection/profiles.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { LoginCookies } from '../fetch/requester.ts';
import { Secrets } from '../record/secrets.ts';
import {
  type Cookie,
  cookieHeader,
  hidesSecure,
  isDomainOfSite,
  isOfSite,
  pairOf,
  readSetCookie,
  withCookie,
} from './cookies.ts';
import { countItems, type ProfileContent, readProfile, requireSite } from './readProfile.ts';

const MAX_PROFILES = 200;

/** A source needs a login that this node does not have, or cannot read. Nothing was fetched. */
export class LoginMissingError extends Error {
  constructor(cause?: unknown) {
    super('The login with which this source is watched is missing or cannot be read.', { cause });
    this.name = 'LoginMissingError';
  }
}

/** The logins with which sources are watched. Their content is encrypted, and leaves this class only as a session. */
export class Profiles {
  readonly #store: Pick<Store, 'read' | 'write' | 'clock' | 'instant' | 'randomHex' | 'folder'>;
  /** Two profiles may need the first key at once. */
  readonly #oneAtATime = pLimit(1);

  constructor(store: Store) {
    this.#store = store;
  }

  list(place: { limit: number; offset: number }): Slice<Profile> {
    return profilesPage(this.#store.read, place);
  }

  /** @throws Problem `not_found` */
  read(id: string): Profile {
    const profile = shownProfile(this.#store.read, id);
    if (!profile) throw new Problem('not_found', `There is no profile ${id}.`);
    return profile;
  }

  /** Keeps what is given of one site. @throws Problem `invalid_profile`, `profiles_full`, `profile_key_damaged` */
  async add({ name, site, ...given }: NewProfile): Promise<KeptProfile> {
    const { write, clock, instant, randomHex } = this.#store;
    const read = readProfile(given, site, clock.now());
    const id = `pf_${randomHex(20)}`;
    await this.#oneAtATime(async () => {
      const key = await this.#keyForNew();
      await write((database) => {
        if (countProfiles(database) >= MAX_PROFILES)
          throw new Problem('profiles_full', `A node can have ${MAX_PROFILES} profiles. Delete one first.`);
        insertProfile(database, {
          ...seal(key, id, read.content),
          id,
          name: name.trim() || read.site,
          site: read.site,
          created_at: instant(),
          state: 'untried',
        });
      });
    });
    return { ...this.read(id), left_out: read.left_out };
  }

  /**
   * Renames a profile, or puts other cookies and storage of the same site in place of those that it has.
   *
   * @throws Problem `not_found`, `invalid_profile`, `profile_key_damaged`
   */
  async change(id: string, { name, ...given }: ProfileChange): Promise<KeptProfile> {
    const { site } = this.read(id);
    const { write, clock, instant, folder } = this.#store;
    const isReplaced = Object.values(given).some((content) => content !== undefined);
    const read = isReplaced ? readProfile(given, requireSite(site), clock.now()) : undefined;
    const content = read && seal(await readProfileKey(folder), id, read.content);
    await write((database) => {
      if (name !== undefined) renameProfile(database, { id, name: name.trim() || site });
      if (content) replaceContent(database, id, content, instant());
    });
    return { ...this.read(id), left_out: read?.left_out ?? 0 };
  }

  /** Deletes a profile. Sources that name it are not fetched until they get another, or none. @throws Problem `not_found` */
  async remove(id: string): Promise<void> {
    const isDeleted = await this.#store.write((database) => deleteProfile(database, id));
    if (!isDeleted) throw new Problem('not_found', `There is no profile ${id}.`);
  }

  /** Opens the login of a source; undefined if it is watched without one. @throws LoginMissingError */
  async sessionOf(
    source: Pick<SourceRow, 'url' | 'needs_login' | 'profile'>,
  ): Promise<ProfileSession | undefined> {
    if (!source.needs_login) return undefined;
    if (source.profile === null) throw new LoginMissingError();
    const { write } = this.#store;
    try {
      return await this.open(source.profile, source.url);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const id = source.profile;
      if (error.code === 'profile_key_damaged') await write((database) => markUnreadable(database, id));
      throw new LoginMissingError(error);
    }
  }

  /** Opens a profile for an address. @throws Problem `not_found`, `profile_key_damaged` */
  async open(id: string, address: string): Promise<ProfileSession> {
    const { read, clock, folder } = this.#store;
    const key = await readProfileKey(folder);
    const row = profileById(read, id);
    if (!row) throw new Problem('not_found', `There is no profile ${id}.`);
    return new ProfileSession({ row, key, content: unseal(key, id, row.sealed), address, read, clock });
  }

  /** Without profiles, nothing is lost if the key is made anew. @throws Problem `profile_key_damaged` */
  async #keyForNew(): Promise<Buffer> {
    const { read, folder } = this.#store;
    try {
      return await readProfileKey(folder);
    } catch (error) {
      if (!(error instanceof Problem) || hasProfiles(read)) throw error;
      return makeProfileKey(folder);
    }
  }
}

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
    this.secrets = new Secrets(profile.address);
    this.secrets.addProfile(profile.content);
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
    updateContent(database, { id: row.id, ...seal(key, row.id, content) });
  }
}

/** The file of the key with which profiles are encrypted. It is in no dump and no copy. */
function profileKeyFile(folder: string): string {
  return join(folder, 'profiles.key');
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** Reads the key of the profiles. @throws Problem `profile_key_damaged` */
async function readProfileKey(folder: string): Promise<Buffer> {
  const file = profileKeyFile(folder);
  const text = await orIfMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined)
    throw damaged(
      `The file ${file} is missing, without which no profile can be read. Put it back from your backup, or delete the profiles and log in again.`,
    );
  if (!/^[0-9a-f]{64}\n?$/.test(text))
    throw damaged(
      `The file ${file} is not the key of the profiles. Put it back from your backup, or delete the profiles and log in again.`,
    );
  return Buffer.from(text.trim(), 'hex');
}

/** Makes a new key, in place of any that nothing is encrypted with. */
async function makeProfileKey(folder: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  await writeFileDurably(profileKeyFile(folder), `${key.toString('hex')}\n`, 0o600);
  return key;
}

/** Encrypts the content of a profile, and says of it what may be shown. */
function seal(key: Buffer, id: string, content: ProfileContent): SealedContent {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(nameOf(id));
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
  const ends = content.cookies.flatMap(({ expires }) => expires ?? []);
  return {
    sealed: Buffer.concat([nonce, cipher.getAuthTag(), encrypted]),
    cookies: content.cookies.length,
    storage_items: countItems(content),
    expires_at: ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString(),
  };
}

/** Decrypts the content of a profile. @throws Problem `profile_key_damaged` if it was sealed with another key or for another id */
function unseal(key: Buffer, id: string, sealed: Buffer): ProfileContent {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce).setAAD(nameOf(id)).setAuthTag(tag);
    const encrypted = sealed.subarray(NONCE_BYTES + TAG_BYTES);
    const text = Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
    return JSON.parse(text) as ProfileContent;
  } catch (cause) {
    throw damaged(
      'This profile was encrypted with another key, or was altered. Put profiles.key back from your backup, or log in again.',
      cause,
    );
  }
}

/** What is encrypted for one profile cannot be put in the place of another. */
function nameOf(id: string): Buffer {
  return Buffer.from(`strongroom profile ${id}`, 'utf8');
}

function damaged(message: string, cause?: unknown): Problem {
  return new Problem('profile_key_damaged', message, cause === undefined ? {} : { cause });
}
