import type { RequestedSettings, Settings } from '../../../../shared/node/settings.ts';
import type { Addresses } from '../../../../shared/routes/node/manage.ts';
import type { SharingSwitch } from '../../../owner/sharing.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import { measureStorage } from '../../../store/storageSpace.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type NodeRoutes =
  | 'readHealth'
  | 'readSettings'
  | 'changeSettings'
  | 'readStorage'
  | 'readSharing'
  | 'setSharing'
  | 'readAddresses';

export interface NodeServices {
  store: Store;
  settings: Pick<SettingsStore, 'current'>;
  /** Changes settings, applies those that concern the listening sockets, and keeps the password of the mail server. */
  changeSettings: (change: RequestedSettings) => Promise<Settings>;
  sharing: SharingSwitch;
  /** Returns the addresses at which the network can reach the node now. */
  addresses: () => Addresses['addresses'];
  /** Returns the certificate of the node; undefined without TLS. */
  tls: () => { fingerprint: string } | undefined;
  publicAddress: PublicAddress;
}

/** Handlers for the node itself: settings, storage, sharing and its addresses. */
export function nodeHandlers(services: NodeServices): Pick<Handlers, NodeRoutes> {
  const { store, settings, changeSettings, sharing, addresses, tls, publicAddress } = services;
  return {
    readHealth: () => ok({ status: 'up' }),
    readSettings: () => ok(settings.current),
    changeSettings: async ({ body }) => ok(await changeSettings(body)),
    readStorage: async () => ok(measureStorage(store, settings.current)),
    readSharing: () => ok(sharing.current),
    setSharing: async ({ body }) => ok(await sharing.set(body)),
    readAddresses: () => {
      const { origin, name = '' } = publicAddress;
      const isPublic = origin !== undefined && sharing.current.mode !== 'off';
      const publicAddresses = isPublic ? [{ url: origin, address: name, interface: 'public address' }] : [];
      const fingerprint = tls()?.fingerprint;
      return ok({
        addresses: [...publicAddresses, ...addresses()],
        ...(fingerprint && { tls_fingerprint: fingerprint }),
      });
    },
  };
}
