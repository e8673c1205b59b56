import pLimit from 'p-limit';
import type { Settings, SettingsChange } from '../../../../shared/node/settings.ts';
import type { TlsIdentity } from '../../../owner/tls/certificate.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Listeners } from '../listeners.ts';

export interface TlsSwitchConfig {
  settings: SettingsStore;
  listeners: Pick<Listeners, 'openTls' | 'closeTls'>;
  openIdentity: () => Promise<TlsIdentity>;
  /** Whether TLS stays on whatever the setting says. */
  isForced: boolean;
}

/** Applies the setting `tls`. Listening begins before the setting says so, and ends after. */
export class TlsSwitch {
  readonly #config: TlsSwitchConfig;
  readonly #oneAtATime = pLimit(1);

  constructor(config: TlsSwitchConfig) {
    this.#config = config;
  }

  /** Listens for HTTPS if the node is to do so from its start. @throws Problem `port_taken` */
  async start(): Promise<void> {
    const { settings, isForced } = this.#config;
    if (isForced || settings.current.tls) await this.#open();
  }

  /** Changes settings, and listens for HTTPS or stops doing so if that is among them. @throws Problem `port_taken` */
  changeSettings(change: SettingsChange): Promise<Settings> {
    const { settings, listeners, isForced } = this.#config;
    return this.#oneAtATime(async () => {
      if (change.tls) await this.#open();
      try {
        return await settings.change(change);
      } finally {
        // Also closes what was opened for a change that could not be stored.
        if (!settings.current.tls && !isForced) await listeners.closeTls();
      }
    });
  }

  async #open(): Promise<void> {
    const { listeners, openIdentity } = this.#config;
    await listeners.openTls(await openIdentity());
  }
}
