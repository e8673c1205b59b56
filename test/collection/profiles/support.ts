import { expect } from 'vitest';
import type { KeptProfile, Profile } from '../../../shared/collection/profile.ts';
import { page, type ScriptedWeb, type Step } from '../../support/network/scriptedWeb.ts';
import type { CollectingNode } from '../support.ts';

/** A value that must be nowhere but on the wire. */
export const CANARY = 'canary-Zk8fQ2mVx7Lw93';

/** A cookie as Playwright writes it. */
export function cookie(value = CANARY, fields: object = {}) {
  return { name: 'sid', value, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, ...fields };
}

export async function addProfile(node: CollectingNode, fields: object = {}): Promise<KeptProfile> {
  const given = { site: '127.0.0.1', storage_state: { cookies: [cookie()], origins: [] }, ...fields };
  const response = await node.node.sendJson('POST', '/manage/profiles', given);
  expect(response.status).toBe(201);
  return (await response.json()) as KeptProfile;
}

export function readProfile(node: CollectingNode, id: string): Promise<Profile> {
  return node.read<Profile>(`/manage/profiles/${id}`);
}

/** Shows a page to whoever sends the cookie, and redirects everybody else to the login page. */
export function members(body: string, value = CANARY, headers: Record<string, string> = {}): Step {
  return (socket, request) =>
    request.headers.cookie?.includes(`sid=${value}`)
      ? page(body, { headers })(socket, request)
      : page('', { status: 302, headers: { Location: '/login?next=x' } })(socket, request);
}

export const LOGIN_PAGE = page('<title>Log in</title><form><input type="password" name="p"></form>');

/** Sets the page of members at `/`, and the login page. */
export function scriptMembers(web: ScriptedWeb, body = '<title>Mine</title><p>For members.</p>'): void {
  web.script('/', members(body));
  web.script('/login?next=x', LOGIN_PAGE);
}

/** Returns the cookies that the requests for a path had, in their order; undefined where there were none. */
export function cookiesOf(web: ScriptedWeb, path: string): (string | undefined)[] {
  return web.requests(path).map(({ headers }) => headers.cookie);
}
