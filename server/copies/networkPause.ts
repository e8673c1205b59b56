import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';

/** Why nothing is sent over the network in the background; null if it may be sent. */
export type NetworkPause = 'no_network' | 'metered' | null;

const TIMEOUT_MS = 5_000;
/** NM_METERED_YES and NM_METERED_GUESS_YES of NetworkManager's D-Bus interface. */
const METERED: ReadonlySet<string> = new Set(['u 1', 'u 3']);

/** Queries of the machine. Tests replace them. */
export interface NetworkReader {
  platform: NodeJS.Platform;
  /** The addresses of each network interface, of which only whether they are internal matters. */
  interfaces: () => Record<string, readonly { internal: boolean }[] | undefined>;
  /** Runs a program and returns its output. Rejects if there is no such program or it fails. */
  run: (program: string, args: readonly string[]) => Promise<string>;
}

const THIS_MACHINE: NetworkReader = {
  platform: process.platform,
  interfaces: networkInterfaces,
  run: async (program, args) => (await promisify(execFile)(program, args, { timeout: TIMEOUT_MS })).stdout,
};

/**
 * Returns whether this machine has no network, or a metered one. Only NetworkManager on Linux lets a program read that a
 * network is metered. On other systems, or if only a later router is metered, this is not known.
 */
export async function readNetworkPause(machine: NetworkReader = THIS_MACHINE): Promise<NetworkPause> {
  const isConnected = Object.values(machine.interfaces()).some((addresses) =>
    addresses?.some(({ internal }) => !internal),
  );
  if (!isConnected) return 'no_network';
  return (await isMetered(machine)) ? 'metered' : null;
}

async function isMetered({ platform, run }: NetworkReader): Promise<boolean> {
  if (platform !== 'linux') return false;
  const manager = 'org.freedesktop.NetworkManager';
  const args = ['--system', 'get-property', manager, '/org/freedesktop/NetworkManager', manager, 'Metered'];
  try {
    return METERED.has((await run('busctl', args)).trim());
  } catch {
    // Without NetworkManager, this is not known.
    return false;
  }
}

/** Returns whether a copy is reached over the network: a bucket, unless its store runs on this machine. */
export function isRemote({ target, endpoint }: { target: string; endpoint: string | null }): boolean {
  if (!target.startsWith('s3:')) return false;
  const host = endpoint === null ? undefined : URL.parse(endpoint)?.hostname;
  return host === undefined || !/^(localhost|127\..*|\[::1\])$/.test(host);
}
