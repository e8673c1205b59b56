import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { RunToken, SessionProof } from '../../../shared/node/owner.ts';
import { isDataPath } from '../../../shared/node/pages.ts';
import {
  MAX_TICKET_MS,
  RUN_TOKEN_PREFIX,
  SIGN_IN_FRAGMENT,
  signedText,
  TICKET_PARAMETER,
  ticketText,
} from '../../../shared/node/session.ts';
import type { ProblemDocument } from '../../../shared/problems.ts';
import type { ResponseOf } from '../../../shared/routes/route.ts';
import type { RouteTable } from '../../../shared/routes.ts';
import { createKey, namesOfKeys, type OwnerKey, readKey, signText, storeKey } from './ownerKey.ts';
import { ROUTE_ADDRESSES } from './routeAddresses.ts';

/** The token of this run of the node. It is in the memory of this page only. */
let current: RunToken | undefined;
/** What to add to the time of this browser for the node's. */
let clockOffset = 0;
let opening: Promise<void> | undefined;
let refusal: ProblemDocument | undefined;
/** The code with which a sign-in link opened this page, until the node has taken or refused it. */
let code = 'window' in globalThis ? takeCode() : undefined;

/** Why the sign-in link that opened this page was refused. */
export function signInRefusal(): ProblemDocument | undefined {
  return refusal;
}

/** Resolves when it is known whether this page is the owner's. Never rejects: without an answer, it is a visitor's. */
function sessionReady(): Promise<void> {
  opening ??= openSession();
  return opening;
}

/**
 * Sends a request as the owner if this browser is signed in. A token is refused once the node has started again: the key
 * then gets another one.
 */
export async function fetchSignedIn(address: string, init: RequestInit): Promise<Response> {
  // Outside a page, as in tests of what pages do, nobody is signed in.
  if (!('window' in globalThis)) return fetch(address, init);
  if (new URL(address, window.location.origin).origin !== window.location.origin) return fetch(address, init);
  return withToken(
    (headers) => fetch(address, { ...init, headers: { ...plainHeaders(init.headers), ...headers } }),
    ({ status }) => status,
  );
}

function plainHeaders(headers: RequestInit['headers']): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}

/** Sends a request with the header of this session, and a second time if its token was of another run. */
export async function withToken<Answer>(
  send: (headers: Record<string, string>) => Promise<Answer>,
  statusOf: (answer: Answer) => number,
): Promise<Answer> {
  await sessionReady();
  const token = current?.token;
  const answer = await send(headerOf(token));
  if (statusOf(answer) !== 401 || token === undefined) return answer;
  if (current?.token === token) {
    // Requests that fail together ask for one token.
    renewing ??= openSession().finally(() => {
      renewing = undefined;
    });
    opening = renewing;
    await renewing;
    if (!current) onSignedOut();
  }
  return current?.token === token ? answer : send(headerOf(current?.token));
}

let renewing: Promise<void> | undefined;
let onSignedOut = () => {};

/** Calls the listener when a request finds that this browser was signed out elsewhere. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

function headerOf(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

async function openSession(): Promise<void> {
  try {
    const proven = await prove();
    current = proven;
    if (proven) clockOffset = Date.parse(proven.time) - Date.now();
  } catch {
    // The node did not answer. The requests that wait for this find the same and say it; the next one tries again.
    opening = undefined;
  }
}

/** Returns the code with which a sign-in link opened this page, and removes it from the address. */
function takeCode(): string | undefined {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith(SIGN_IN_FRAGMENT)) return undefined;
  window.history.replaceState(window.history.state, '', pathname + search);
  return hash.slice(SIGN_IN_FRAGMENT.length);
}

/** Proves the key of this browser, or signs it in. Returns undefined if it is not signed in. */
async function prove(): Promise<RunToken | undefined> {
  if (code === undefined && keys.size === 0 && (await namesOfKeys()).length === 0) return undefined;
  const asked = await askChallenge();
  const kept = keys.get(asked.node) ?? (await readKey(asked.node));
  if (code === undefined) return kept && openWith(kept, asked);
  const key = kept ?? (await createKey());
  const begun = await sendProof(key, asked, code);
  code = undefined;
  if (begun.opened) {
    keys.set(asked.node, key);
    await storeKey(asked.node, key);
    return begun.opened;
  }
  refusal = begun.refused;
  return kept && openWith(kept, await askChallenge());
}

/** The keys that this page signed in, for browsers that store nothing. */
const keys = new Map<string, OwnerKey>();

async function openWith(key: OwnerKey, asked: Challenge): Promise<RunToken | undefined> {
  return (await sendProof(key, asked)).opened;
}

type Challenge = ResponseOf<RouteTable['createSessionChallenge']>;

async function askChallenge(): Promise<Challenge> {
  const response = await fetch(ROUTE_ADDRESSES.createSessionChallenge.path, { cache: 'no-store' });
  if (!response.ok) throw new Error(`The node answered ${response.status}.`);
  return (await response.json()) as Challenge;
}

async function sendProof(
  key: OwnerKey,
  { challenge }: Challenge,
  withCode?: string,
): Promise<{ opened?: RunToken; refused?: ProblemDocument }> {
  const signature = await signText(key, signedText({ origin: window.location.origin, challenge }));
  const proof: SessionProof = { public_key: key.publicKey, challenge, signature, code: withCode };
  const response = await fetch(ROUTE_ADDRESSES.openSession.path, {
    method: ROUTE_ADDRESSES.openSession.method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(proof),
  });
  if (response.ok) return { opened: (await response.json()) as RunToken };
  return { refused: (await response.json()) as ProblemDocument };
}

/** An address stays the same for this time, so that a browser does not load an image again. */
const SAME_FOR_MS = MAX_TICKET_MS / 4;

/** Returns an address that a browser may load as the owner for an hour or more, if this page is the owner's. */
export function ticketed(address: string): string {
  if (!current) return address;
  const { pathname, search, hash } = new URL(address, window.location.origin);
  const target = pathname + search;
  const now = Date.now() + clockOffset;
  const expires = (Math.floor(now / SAME_FOR_MS) + 3) * SAME_FOR_MS;
  const mac = hmac(sha256, hexToBytes(current.ticket_key), utf8ToBytes(ticketText(target, expires)));
  const session = current.token.slice(RUN_TOKEN_PREFIX.length).split('-', 1)[0] ?? '';
  const ticket = `${TICKET_PARAMETER}=${session}.${expires}.${bytesToHex(mac)}`;
  return `${target}${search === '' ? '?' : '&'}${ticket}${hash}`;
}

/** Returns an address as `ticketed` does, once it is known whether this page is the owner's. */
export async function readyAddress(address: string): Promise<string> {
  await sessionReady();
  return ticketed(address);
}

/**
 * Adds a fresh ticket to each link to data while it is clicked. The address of the link does not change, so it can be
 * copied without a ticket.
 */
export function giveTicketsToLinks(): void {
  for (const type of ['click', 'auxclick']) document.addEventListener(type, giveTicket, { capture: true });
}

function giveTicket({ target }: Event): void {
  const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href]') : null;
  const href = link?.getAttribute('href');
  if (!link || !href || link.origin !== window.location.origin || !isDataPath(link.pathname)) return;
  link.setAttribute('href', ticketed(link.href));
  setTimeout(() => link.setAttribute('href', href));
}
