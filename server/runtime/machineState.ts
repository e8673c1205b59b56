import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/*
 * What background work asks of the machine before it begins: the network and the battery. The desktop app and a headless node
 * ask in the same way, because Electron knows neither the charge nor whether a network is metered.
 */

/** Why nothing is sent over the network in the background; null if it may be sent. */
export type NetworkPause = 'no_network' | 'metered' | null;

const TIMEOUT_MS = 5_000;
/** NM_METERED_YES and NM_METERED_GUESS_YES of NetworkManager's D-Bus interface. */
const METERED: ReadonlySet<string> = new Set(['u 1', 'u 3']);

/** Queries of the machine. Tests replace them. */
export interface MachineReader {
  platform: NodeJS.Platform;
  /** The addresses of each network interface, of which only whether they are internal matters. */
  interfaces: () => Record<string, readonly { internal: boolean }[] | undefined>;
  /** The names of the files in a folder. */
  list: (folder: string) => Promise<string[]>;
  read: (file: string) => Promise<string>;
  /** Runs a program and returns its output. Rejects if there is no such program or it fails. */
  run: (program: string, args: readonly string[]) => Promise<string>;
}

const THIS_MACHINE: MachineReader = {
  platform: process.platform,
  interfaces: networkInterfaces,
  list: (folder) => readdir(folder),
  read: (file) => readFile(file, 'utf8'),
  run: async (program, args) =>
    (await promisify(execFile)(program, args, { timeout: TIMEOUT_MS, windowsHide: true })).stdout,
};

/**
 * Returns whether this machine has no network, or a metered one. Only NetworkManager on Linux lets a program read that a
 * network is metered. On other systems, or if only a later router is metered, this is not known.
 */
export async function readNetworkPause(machine: MachineReader = THIS_MACHINE): Promise<NetworkPause> {
  const isConnected = Object.values(machine.interfaces()).some((addresses) =>
    addresses?.some(({ internal }) => !internal),
  );
  if (!isConnected) return 'no_network';
  return (await isMetered(machine)) ? 'metered' : null;
}

async function isMetered({ platform, run }: MachineReader): Promise<boolean> {
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

/** Below this charge in percent, a machine on its battery is left alone. */
const LOW_PERCENT = 20;

/**
 * Returns whether this machine runs on a battery below 20 %. On Linux the kernel says it, on macOS `pmset`, on Windows
 * `Win32_Battery`. False if it has no battery, or none that can be read.
 */
export async function readBatteryLow(machine: MachineReader = THIS_MACHINE): Promise<boolean> {
  try {
    const percent = await READERS[machine.platform]?.(machine);
    return percent !== undefined && percent < LOW_PERCENT;
  } catch {
    return false;
  }
}

/** Returns the charge in percent while the machine runs on its battery. */
type ReadCharge = (machine: MachineReader) => Promise<number | undefined>;

const POWER_SUPPLIES = '/sys/class/power_supply';
const WINDOWS_BATTERY =
  'Get-CimInstance Win32_Battery | ForEach-Object { "$($_.BatteryStatus) $($_.EstimatedChargeRemaining)" }';
/** Discharging, low and critical: https://learn.microsoft.com/windows/win32/cimwin32prov/win32-battery */
const WINDOWS_DISCHARGING: ReadonlySet<string> = new Set(['1', '4', '5']);

const READERS: { readonly [Platform in NodeJS.Platform]?: ReadCharge } = {
  linux: async ({ list, read }) => {
    const supplies = await list(POWER_SUPPLIES);
    const charges = await Promise.all(
      supplies.map((name) => chargeOnLinux(read, join(POWER_SUPPLIES, name))),
    );
    return lowest(charges.filter((charge) => charge !== undefined));
  },
  darwin: async ({ run }) => {
    const text = await run('pmset', ['-g', 'batt']);
    return text.includes("'Battery Power'") ? lowest(numbersIn(text, /(\d+)%/g)) : undefined;
  },
  win32: async ({ run }) => {
    const text = await run('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', WINDOWS_BATTERY]);
    const batteries = text.split(/\r?\n/).map((line) => line.trim().split(' '));
    return lowest(
      batteries.flatMap(([status = '', percent]) =>
        WINDOWS_DISCHARGING.has(status) ? [Number(percent)] : [],
      ),
    );
  },
};

/** https://docs.kernel.org/power/power_supply_class.html. The scope `Device` is a mouse's or a pen's battery. */
async function chargeOnLinux(read: MachineReader['read'], folder: string): Promise<number | undefined> {
  const value = async (name: string) => {
    try {
      return (await read(join(folder, name))).trim();
    } catch {
      // A supply has only some of the values.
      return undefined;
    }
  };
  const [type, scope, status, capacity] = await Promise.all(
    ['type', 'scope', 'status', 'capacity'].map(value),
  );
  if (type !== 'Battery' || scope === 'Device' || status !== 'Discharging') return undefined;
  return capacity === undefined ? undefined : Number(capacity);
}

function numbersIn(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].map(([, number]) => Number(number));
}

function lowest(percents: readonly number[]): number | undefined {
  const known = percents.filter(Number.isFinite);
  return known.length === 0 ? undefined : Math.min(...known);
}
