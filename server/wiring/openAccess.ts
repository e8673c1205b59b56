import { WriteLimits } from '../archive/limits/writeLimits.ts';
import { DEFAULT_HOST, DEFAULT_PORT, type NodeConfig, READER_LIMITS } from '../config.ts';
import { Exports } from '../http/delivery/exports.ts';
import { sessionCookie } from '../http/security/access.ts';
import { createGuards } from '../http/security/guards.ts';
import { Listeners } from '../http/security/listeners.ts';
import { machineNames } from '../http/security/machineAddresses.ts';
import { PublicAddress } from '../http/security/publicAddress.ts';
import { TlsSwitch } from '../http/security/tlsSwitch.ts';
import { openTlsIdentity } from '../owner/certificate.ts';
import type { OwnerKeys } from '../owner/ownerKeys.ts';
import { Pairings } from '../owner/pairing.ts';
import { OwnerSessions } from '../owner/sessions.ts';
import { openInvitations, SharingSwitch } from '../owner/sharing.ts';
import { announcedAccess, openNearby } from './discovery.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens what decides who reaches the node, where, and how much they may use. Nothing listens yet. */
export function openAccess(
  config: NodeConfig,
  { store, key, clock, log, settings, nodeName }: SharedServices,
  keys: OwnerKeys,
) {
  const host = config.host ?? DEFAULT_HOST;
  const readers = { ...READER_LIMITS, ...config.readers };
  const listeners = new Listeners({ host, port: config.port ?? DEFAULT_PORT, clock, log, ...readers });
  const publicAddress = new PublicAddress(config.publicUrl, settings);
  const nearby = openNearby({ store, log, ownKey: key.verifierKey, listeners, discovery: config.discovery });
  const tls = new TlsSwitch({
    settings,
    listeners,
    openIdentity: () => openTlsIdentity(config.dataFolder, { name: nodeName, hosts: machineNames(), clock }),
    isForced: config.tls ?? false,
  });
  const invitations = openInvitations(store);
  const sessions = new OwnerSessions(store, log);
  const pairings = new Pairings(store, log);
  const cookieName = sessionCookie(nodeName);
  const access = { keys, sessions, invitations, pairings, cookieName, publicAddress };
  const secrets = { ...access, tls: () => listeners.tls };
  return {
    ...access,
    secrets,
    tls,
    guards: createGuards({ listenHost: host, settings, secrets }),
    listeners,
    nearby,
    sharing: new SharingSwitch(settings, announcedAccess(listeners, nearby)),
    writeLimits: new WriteLimits(store, settings, log),
    exports: new Exports(store, readers),
  };
}
