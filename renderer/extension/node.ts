import type { HandInFields } from '../../shared/collection/handedIn.ts';
import type { Paired, PairProof, PairState } from '../../shared/node/pairing.ts';

/** What a refusal of the node may say. */
interface Answer {
  code?: unknown;
  detail?: unknown;
  paused?: unknown;
}

/**
 * Why the node did not do what was asked. `off`: nothing answers. `later`: it cannot at the moment. `refused`: it will not,
 * whenever it is asked. `revoked`: this browser is not paired any more. `stranger`: another program answers.
 */
export class NodeError extends Error {
  readonly kind: 'off' | 'later' | 'refused' | 'revoked' | 'stranger';
  readonly code: string;
  /** With `source_exists`: whether the source is paused. */
  readonly isPaused: boolean;

  constructor(kind: NodeError['kind'], message: string, { code, paused }: Answer = {}) {
    super(message);
    this.name = 'NodeError';
    this.kind = kind;
    this.code = typeof code === 'string' ? code : '';
    this.isPaused = paused === true;
  }
}

const ASK_MS = 15_000;
/** Files may be large, and the node may be on a slow network. */
const SEND_MS = 600_000;
const LATER: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 507]);

/**
 * Returns the address of a node as it is asked: scheme, host and port.
 *
 * @throws NodeError if it is none, or if a token would cross a network in the clear
 */
export function nodeAddress(typed: string): string {
  const text = typed.trim();
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new NodeError('refused', 'Enter the address that Strongroom shows, such as http://127.0.0.1:7717.');
  if (url.protocol === 'http:' && !/^(127\.0\.0\.1|localhost)$/.test(url.hostname))
    throw new NodeError(
      'refused',
      'A node on another machine needs an https address. Turn on HTTPS on its page Sharing.',
    );
  // Another user of the machine could listen at the other address of this name, and pass everything on.
  if (url.hostname === 'localhost') url.hostname = '127.0.0.1';
  return url.origin;
}

/** Pairs this browser. @throws NodeError */
export async function pair(address: string, code: string, name: string): Promise<Pairing> {
  const paired = (await ask(`${address}/pair`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, name }),
  })) as Paired;
  return { ...paired, address };
}

/** Returns the cases of the node. @throws NodeError */
export async function readCases(pairing: Pairing): Promise<PairState['cases']> {
  const state = (await askNode(pairing, '/pair')) as Partial<PairState>;
  if (!Array.isArray(state.cases)) throw stranger();
  return state.cases;
}

/**
 * Sends a request to the node that this browser was paired with. While the node is off, another program may listen at its
 * address. So the node first proves that it knows the digest of the token. The token itself is never sent: what is sent in
 * its place is accepted only by the run of the node that gave the proof.
 *
 * @throws NodeError
 */
async function askNode(
  pairing: Pairing,
  path: string,
  init: RequestInit = {},
  ms?: number,
): Promise<unknown> {
  const challenge = hexOf(crypto.getRandomValues(new Uint8Array(32)));
  const { proof, session } = await proofOf(pairing, challenge);
  if (!session || proof !== (await macOf(pairing.token, challenge))) throw stranger();
  const token = `browser-${pairing.id}-${await macOf(pairing.token, `session ${session}`)}`;
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return ask(`${pairing.address}${path}`, { ...init, headers }, ms);
}

async function proofOf({ address, id }: Pairing, challenge: string): Promise<Partial<PairProof>> {
  try {
    return (await ask(`${address}/pair/${id}/proof?challenge=${challenge}`)) as Partial<PairProof>;
  } catch (error) {
    if (!(error instanceof NodeError) || error.kind !== 'refused') throw error;
    if (error.code === 'not_found') throw new NodeError('revoked', 'This browser is not paired any more.');
    throw stranger();
  }
}

function stranger(): NodeError {
  return new NodeError('stranger', 'Another program answers at the address of your node.');
}

/** HMAC-SHA-256 under the digest of the token, which is what the node knows of it. */
async function macOf(token: string, text: string): Promise<string> {
  const bytes = new TextEncoder();
  const digest = await crypto.subtle.digest('SHA-256', bytes.encode(token));
  const key = await crypto.subtle.importKey('raw', digest, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return hexOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(text))));
}

type Field = Exclude<keyof HandInFields, 'withheld' | 'fetch' | 'fetch_confirmed'>;

/** Hands in a file with what is said about it. @throws NodeError */
export async function handIn(
  pairing: Pairing,
  files: { file: Blob; name: string; picture: Blob | null },
  said: Partial<Record<Field, string | undefined>>,
): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(said)) if (value) form.set(name, value);
  form.set('file', files.file, files.name);
  if (files.picture) form.set('picture', files.picture, 'picture.png');
  await askNode(pairing, '/manage/handed-in', { method: 'POST', body: form }, SEND_MS);
}

/** Watches an address, unless it is watched already. @throws NodeError, also if it is a source that is paused */
export async function watch(pairing: Pairing, url: string): Promise<void> {
  try {
    await askNode(pairing, '/manage/sources', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ url }),
    });
  } catch (error) {
    if (!(error instanceof NodeError) || error.code !== 'source_exists' || error.isPaused) throw error;
  }
}

/** Sends a request without cookies. It follows no redirect, so that nothing goes elsewhere. */
async function ask(url: string, init: RequestInit = {}, ms = ASK_MS): Promise<unknown> {
  const options: RequestInit = {
    credentials: 'omit',
    redirect: 'error',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
  };
  let response: Response;
  try {
    response = await fetch(url, { ...options, ...init, signal: AbortSignal.timeout(ms) });
  } catch {
    // Browsers do not say why: the node is off, or its certificate is not trusted.
    const hint = url.startsWith('https:')
      ? ' If it runs, open its address here once and trust its certificate.'
      : '';
    throw new NodeError('off', `Your node does not answer.${hint}`);
  }
  const { status } = response;
  const answer = (await response.json().catch(() => ({}))) as Answer;
  if (response.ok) return answer;
  const detail = typeof answer.detail === 'string' ? answer.detail : `It answered ${status}.`;
  // If the browser was revoked instead, the next proof says so.
  if (status === 401) throw new NodeError('later', 'The node was restarted meanwhile.', answer);
  throw new NodeError(LATER.has(status) ? 'later' : 'refused', detail, answer);
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

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
