import type { Paired } from '../../shared/node/pairing.ts';

/** The node that this browser is paired with. */
export interface Pairing extends Paired {
  /** Its scheme, host and port. */
  address: string;
}

/** What is known of the node since the last try. */
export interface Connection {
  /** `off`: nothing answers. `revoked`: the owner ended the pairing. `stranger`: another program answers. */
  state: 'on' | 'off' | 'revoked' | 'stranger';
  /** The cases that a page can be put into, as they were when the node was last seen. */
  cases: { id: string; title: string }[];
}

const PAIRING = 'pairing';
const CONNECTION = 'connection';
const CASE = 'case';

/** Keeps the token away from scripts in pages, also from the own ones. Firefox keeps it away anyway. */
export async function protectStorage(): Promise<void> {
  await chrome.storage.local.setAccessLevel?.({ accessLevel: 'TRUSTED_CONTEXTS' });
}

export async function readPairing(): Promise<Pairing | undefined> {
  return (await read(PAIRING)) as Pairing | undefined;
}

export async function savePairing(pairing: Pairing): Promise<void> {
  await chrome.storage.local.set({ [PAIRING]: pairing, [CONNECTION]: { state: 'on', cases: [] } });
}

/** Forgets the node and its token. What waits in the queue stays. */
export async function forgetPairing(): Promise<void> {
  await chrome.storage.local.remove(PAIRING);
  await chrome.storage.local.remove(CONNECTION);
}

export async function readConnection(): Promise<Connection> {
  return ((await read(CONNECTION)) as Connection | undefined) ?? { state: 'off', cases: [] };
}

export async function saveConnection(change: Partial<Connection>): Promise<void> {
  await chrome.storage.local.set({ [CONNECTION]: { ...(await readConnection()), ...change } });
}

/** The case that was chosen last: a person archives several pages for the same one. */
export async function readLastCase(): Promise<string | undefined> {
  return (await read(CASE)) as string | undefined;
}

export async function saveLastCase(id: string | undefined): Promise<void> {
  await chrome.storage.local.set({ [CASE]: id ?? '' });
}

async function read(key: string): Promise<unknown> {
  return (await chrome.storage.local.get(key))[key];
}
