import type { LookupAddress } from 'node:dns';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemLookup } from '../../server/collection/fetch/connect.ts';
import type { NodeConfig } from '../../server/config.ts';
import { checkDump } from '../../server/dump/checkDump.ts';
import { openNode, type RunningNode } from '../../server/node.ts';
import { createLog } from '../../server/runtime/log.ts';
import { checkResponse } from './conformance.ts';
import { keptChild } from './keptChildren.ts';
import { createDataFolder } from './store.ts';

/**
 * A real node on port 0 in a temporary folder, with functions that send requests. Every response is checked against the
 * node's OpenAPI document.
 */
export interface TestNode extends RunningNode {
  token: string;
  /** Sends a request as a visitor on loopback, without credentials. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a request as the owner. */
  fetchAsOwner(path: string, init?: RequestInit): Promise<Response>;
  /** Sends JSON as the owner. */
  sendJson(method: string, path: string, body: unknown): Promise<Response>;
}

/** For tests of what a node derives in the background: it begins at once. */
export const DERIVING = { derive: true, idleMs: 0 } as const;

const opened: TestNode[] = [];
const folders: string[] = [];

/** Creates a folder that `closeTestNodes` removes. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  folders.push(folder);
  return folder;
}

/** Knows no name but this machine's: a DNS server may be slow, be absent, or know names that no test expects. */
async function localNames(hostname: string): Promise<LookupAddress[]> {
  if (hostname === 'localhost' || isIP(hostname) !== 0) return systemLookup(hostname);
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname,
  });
}

/** A node that does nothing by itself. */
export const IDLE: Omit<Partial<NodeConfig>, 'dataFolder'> = {
  collect: false,
  audit: false,
  derive: false,
  prove: false,
  copy: false,
  follow: false,
  discovery: { addresses: [] },
};

/**
 * Opens a node. Unless configured otherwise, it logs nothing and does nothing by itself: neither on schedule nor when it
 * is idle, because when that is depends on the machine.
 */
export async function openTestNode(config: Partial<NodeConfig> = {}): Promise<TestNode> {
  const dataFolder = config.dataFolder ?? join(await temporaryFolder(), 'data');
  await createDataFolder(dataFolder);
  const node = await openNode({
    port: 0,
    ...IDLE,
    log: createLog('silent'),
    networkPause: async () => null,
    batteryLow: async () => false,
    startChild: keptChild,
    ...config,
    network: { lookup: localNames, ...config.network },
    dataFolder,
  });
  const token = await readFile(node.tokenFile, 'utf8');
  const fetchPath = async (path: string, init?: RequestInit) => {
    const url = new URL(path, node.url);
    const response = await fetch(url, { redirect: 'manual', ...init });
    await checkResponse(init?.method ?? 'GET', url, response);
    return response;
  };
  const fetchAsOwner = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return fetchPath(path, { ...init, headers });
  };
  const sendJson = (method: string, path: string, body: unknown) =>
    fetchAsOwner(path, {
      method,
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
  // Not spread, because that would read `tls` and `publicUrl` once.
  const testNode = Object.assign(node, { token, fetch: fetchPath, fetchAsOwner, sendJson });
  opened.push(testNode);
  return testNode;
}

/**
 * For `afterEach`: closes every node that a test opened and removes its folder. With `STRONGROOM_READ_BACK`, as in CI, the
 * dump of each archive must be readable: what a node recorded is worth nothing if it cannot be restored.
 */
export async function closeTestNodes(): Promise<void> {
  const unreadable: unknown[] = [];
  if (process.env.STRONGROOM_READ_BACK)
    for (const node of opened) await readBack(node).catch((error: unknown) => unreadable.push(error));
  await closeAlteredNodes();
  if (unreadable.length > 0) throw new AggregateError(unreadable, 'The dump of an archive cannot be read.');
}

/** The same for tests that alter a database themselves, so that its dump is refused. */
export async function closeAlteredNodes(): Promise<void> {
  for (const node of opened.splice(0)) await node.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
}

/** Reads the dump of a node, unless the test closed it or made it refuse. */
async function readBack({ url, token }: TestNode): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(new URL('/api/dump.jsonl', url), { headers }).catch(() => undefined);
  if (!response?.ok || !response.body) {
    await response?.body?.cancel();
    return;
  }
  for await (const _ of checkDump(response.body));
}
