import pLimit from 'p-limit';
import type { KeptProfile, NewProfile, Profile, ProfileChange } from '../../../shared/collection/profile.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import {
  countProfiles,
  deleteProfile,
  hasProfiles,
  insertProfile,
  markUnreadable,
  profileById,
  profilesPage,
  renameProfile,
  replaceContent,
  shownProfile,
} from '../../store/sqlite/collection/profiles.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import { readProfile, requireSite } from './readProfile.ts';
import { makeProfileKey, readProfileKey, seal, unseal } from './sealing.ts';
import { ProfileSession } from './session.ts';

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
