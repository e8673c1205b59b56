import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { RunToken, SessionProof } from '../../shared/node/owner.ts';
import { RUN_TOKEN_PREFIX, SIGN_IN_FRAGMENT, signedText, ticketText } from '../../shared/node/session.ts';

/** Sends requests to a node. */
interface Sender {
  fetch: (path: string, init?: RequestInit) => Promise<Response>;
}

interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Sends requests through a function that takes and returns plain values, as that of a proxy. */
export function asSend(
  ask: (
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
  ) => Promise<RawAnswer>,
): Sender {
  const send: Sender['fetch'] = async (path, { method, headers, body } = {}) => {
    const sent = Object.fromEntries(new Headers(headers));
    const answer = await ask(path, {
      headers: sent,
      ...(method !== undefined && { method }),
      ...(typeof body === 'string' && { body }),
    });
    const returned = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    return new Response(answer.body === '' ? null : answer.body, {
      status: answer.status,
      headers: returned,
    });
  };
  return { fetch: send };
}

/** The key of a page of the interface. */
export interface PageKey {
  publicKey: string;
  sign: (text: string) => string;
}

export function createPageKey(namedCurve = 'P-256'): PageKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve });
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    sign: (text) =>
      sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64'),
  };
}

interface Proof {
  key: PageKey;
  /** The origin that the page signs. */
  origin: string;
  headers?: Record<string, string> | undefined;
  code?: string | undefined;
}

/** Returns what a page sends for a challenge of the node. */
export async function proofFor(node: Sender, { key, origin, headers, code }: Proof): Promise<SessionProof> {
  const asked = (await (await node.fetch('/api/session/challenge', { headers })).json()) as {
    challenge: string;
  };
  const { challenge } = asked;
  const signature = key.sign(signedText({ origin, challenge }));
  return { public_key: key.publicKey, challenge, signature, ...(code !== undefined && { code }) };
}

export function sendProof(node: Sender, proof: SessionProof, headers = {}): Promise<Response> {
  return node.fetch('/api/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(proof),
  });
}

/** Opens a sign-in link, and returns the code for the page and the cookie that was set. */
export async function openLink(
  node: Sender,
  link: string,
  headers = {},
): Promise<{ code: string; cookie: string }> {
  const answer = await node.fetch(new URL(link).pathname, { headers, redirect: 'manual' });
  const [, code = ''] = (answer.headers.get('Location') ?? '').split(`/${SIGN_IN_FRAGMENT}`);
  return { code, cookie: answer.headers.get('Set-Cookie') ?? '' };
}

interface SignedIn {
  key: PageKey;
  token: string;
  headers: { Authorization: string };
  /** Returns an address with a ticket. */
  ticketed: (path: string, expires?: number) => string;
}

/** Signs a page in as the owner, as the interface does. */
export async function signIn(
  node: Sender & { url: string; createSignInLink: () => string },
  { key = createPageKey(), headers }: { key?: PageKey; headers?: Record<string, string> } = {},
): Promise<SignedIn> {
  const { code } = await openLink(node, node.createSignInLink(), headers);
  return prove(node, { key, origin: node.url, headers, code });
}

/** Gets the token of this run for a page. @throws if the node refuses it */
export async function prove(node: Sender, { key, origin, headers, code }: Proof): Promise<SignedIn> {
  const proof = await proofFor(node, { key, origin, headers, code });
  const answer = await sendProof(node, proof, headers);
  if (answer.status !== 201) throw new Error(`Refused with ${answer.status}: ${await answer.text()}`);
  const { token, ticket_key, time } = (await answer.json()) as RunToken;
  return {
    key,
    token,
    headers: { Authorization: `Bearer ${token}` },
    ticketed: (path, expires = Date.parse(time) + 3_600_000) => {
      const mac = createHmac('sha256', Buffer.from(ticket_key, 'hex')).update(ticketText(path, expires));
      const [session] = token.slice(RUN_TOKEN_PREFIX.length).split('-');
      return `${path}${path.includes('?') ? '&' : '?'}ticket=${session}.${expires}.${mac.digest('hex')}`;
    },
  };
}
