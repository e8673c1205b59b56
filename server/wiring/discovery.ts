import type { NodeConfig } from '../config.ts';
import type { Listeners } from '../http/security/listeners.ts';
import { machineAddresses } from '../http/security/machineAddresses.ts';
import type { NetworkAccess } from '../owner/sharing.ts';
import { Nearby, type NearbyConfig } from '../peers/nearby/nearby.ts';

/** The port of multicast DNS (RFC 6762). */
const MULTICAST_DNS_PORT = 5353;

/** Returns the service that finds other nodes on the network, and announces this one at the addresses that are open. */
export function openNearby({
  listeners,
  discovery = {},
  ...config
}: Pick<NearbyConfig, 'store' | 'log' | 'ownKey'> & {
  listeners: Listeners;
  discovery: NodeConfig['discovery'];
}): Nearby {
  const { port = MULTICAST_DNS_PORT, addresses } = discovery;
  return new Nearby({
    ...config,
    port,
    machineAddresses: () => addresses ?? ofVersion4(machineAddresses()),
    reachedAt: () => {
      const { tls } = listeners;
      const scheme = tls ? 'https:' : 'http:';
      const open = listeners.networkAddresses.filter(({ url }) => url.startsWith(scheme));
      const [first] = open;
      if (!first) return undefined;
      return {
        port: Number(new URL(first.url).port),
        tlsFingerprint: tls?.fingerprint,
        addresses: addresses ?? ofVersion4(open),
      };
    },
  });
}

/** Multicast DNS over IPv4 reaches every network on which nodes are found. */
function ofVersion4(addresses: readonly { address: string }[]): string[] {
  return addresses.map(({ address }) => address).filter((address) => !address.includes(':'));
}

/** Announces the node after it was opened to the network, and withdraws that before it is closed. */
export function announcedAccess(listeners: NetworkAccess, nearby: Nearby): NetworkAccess {
  return {
    share: async () => {
      await listeners.share();
      nearby.announce();
    },
    resume: async () => {
      await listeners.resume();
      nearby.announce();
    },
    unshare: async () => {
      // The network is closed even if this cannot be announced.
      try {
        await nearby.withdraw();
      } finally {
        await listeners.unshare();
      }
    },
  };
}
