import pLimit from 'p-limit';
import type { Sharing } from '../../shared/settings.ts';
import type { SettingsStore } from '../store/settings.ts';

/** What lets the network in and shuts it out. */
export interface NetworkAccess {
  /** @throws Problem where the network cannot be let in; nothing is open then that was not before. */
  share(): Promise<void>;
  /** Lets the network in as far as that can be done now, and further when it can. */
  resume(): Promise<void>;
  unshare(): Promise<void>;
}

/**
 * Who may reach the node, kept and carried out together. Changes are made one after the other: the door is opened
 * before sharing is said to be on, and sharing is off before the door is shut.
 */
export class SharingSwitch {
  readonly #settings: SettingsStore;
  readonly #door: NetworkAccess;
  readonly #oneAtATime = pLimit(1);

  constructor(settings: SettingsStore, door: NetworkAccess) {
    this.#settings = settings;
    this.#door = door;
  }

  get current(): Sharing {
    return this.#settings.sharing;
  }

  /** @throws Problem where the network cannot be let in; nothing is changed then. */
  set(next: Sharing): Promise<Sharing> {
    return this.#oneAtATime(async () => {
      const wasOff = this.#settings.sharing.mode === 'off';
      if (next.mode === 'off') {
        await this.#settings.setSharing(next);
        await this.#door.unshare();
        return next;
      }
      if (wasOff) await this.#door.share();
      try {
        return await this.#settings.setSharing(next);
      } catch (error) {
        if (wasOff) await this.#door.unshare();
        throw error;
      }
    });
  }

  /** Carries out at start what was kept. */
  async resume(): Promise<void> {
    if (this.#settings.sharing.mode !== 'off') await this.#door.resume();
  }
}
