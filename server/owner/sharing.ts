import pLimit from 'p-limit';
import type { Sharing } from '../../shared/node/settings.ts';
import type { SettingsStore } from '../store/settings.ts';

/** Opens and closes the node to the network. */
export interface NetworkAccess {
  /** @throws Problem if the node cannot listen on the network; nothing was opened then */
  share(): Promise<void>;
  /** Listens on the addresses that are available now, and on the others once they are. */
  resume(): Promise<void>;
  unshare(): Promise<void>;
}

/**
 * Stores the sharing setting and applies it. Changes run one after another. The network is opened before the setting says
 * so, and the setting is off before the network is closed.
 */
export class SharingSwitch {
  readonly #settings: SettingsStore;
  readonly #access: NetworkAccess;
  readonly #oneAtATime = pLimit(1);

  constructor(settings: SettingsStore, access: NetworkAccess) {
    this.#settings = settings;
    this.#access = access;
  }

  get current(): Sharing {
    return this.#settings.sharing;
  }

  /** @throws Problem if the node cannot listen on the network; nothing was changed then */
  set(next: Sharing): Promise<Sharing> {
    return this.#oneAtATime(async () => {
      const wasOff = this.#settings.sharing.mode === 'off';
      if (next.mode === 'off') {
        await this.#settings.setSharing(next);
        await this.#access.unshare();
        return next;
      }
      if (wasOff) await this.#access.share();
      try {
        return await this.#settings.setSharing(next);
      } catch (error) {
        if (wasOff) await this.#access.unshare();
        throw error;
      }
    });
  }

  /** Applies the stored setting at the start of the node. */
  async resume(): Promise<void> {
    if (this.#settings.sharing.mode !== 'off') await this.#access.resume();
  }
}
