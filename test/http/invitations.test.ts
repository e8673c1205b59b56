import { afterEach, describe, expect, test } from 'vitest';
import { problemOf } from '../support/archive/packs.ts';
import { contribute, type Invited, invite, share, withToken } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

describe('invitations (contract, section 4)', () => {
  test('the token of an invitation is shown once; the list has its name and use', async () => {
    const node = await openTestNode();
    const response = await node.sendJson('POST', '/manage/invitations', { name: 'Ada' });
    const invited = (await response.json()) as Invited & Record<string, unknown>;
    expect(invited).toMatchObject({ name: 'Ada', last_used_at: null, writes: 0 });
    expect(invited.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    expect(response.headers.get('Location')).toBe(`/manage/invitations/${invited.id}`);
    await invite(node);

    await share(node, 'contribute', true);
    expect((await contribute(node, invited.token)).status).toBe(201);
    const text = await (await node.fetchAsOwner('/manage/invitations')).text();
    expect(text).not.toContain(invited.token);
    const { items, total } = JSON.parse(text) as { items: Record<string, unknown>[]; total: number };
    expect(total).toBe(2);
    expect(items.map(({ name, writes }) => [name, writes])).toEqual([
      ['', 0],
      ['Ada', 1],
    ]);
    expect(items[1]?.last_used_at).not.toBeNull();
  });

  test('if required, contributions without a valid invitation are 401 invitation_required', async () => {
    const node = await openTestNode();
    const { id, token } = await invite(node, { name: 'Ada' });
    await share(node, 'contribute', true);
    expect((await contribute(node, token)).status).toBe(201);
    expect((await contribute(node, node.token)).status).toBe(201);

    expect((await node.fetchAsOwner(`/manage/invitations/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await problemOf(await contribute(node, token))).toMatchObject({
      detail: expect.stringContaining('revoked'),
    });
    for (const wrong of [undefined, token, 'wrong', 'invitation-0000', `${node.token}0`]) {
      const refused = await contribute(node, wrong);
      expect(refused.headers.get('WWW-Authenticate')).toContain('Bearer');
      expect(await problemOf(refused), wrong).toMatchObject({ status: 401, code: 'invitation_required' });
    }
    expect((await node.fetchAsOwner(`/manage/invitations/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect(await (await node.fetchAsOwner('/manage/invitations')).json()).toMatchObject({ total: 0 });
  });

  test('an invitation survives a restart, and only allows contributions', async () => {
    const node = await openTestNode();
    const { token } = await invite(node);
    await share(node, 'contribute', true);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    expect((await contribute(again, token)).status).toBe(201);
    for (const path of ['/manage/settings', '/manage/invitations', '/manage/sharing']) {
      const answer = await again.fetch(path, withToken(token));
      expect(await problemOf(answer), path).toMatchObject({ status: 401, code: 'owner_required' });
    }
    await share(again, 'read');
    expect((await contribute(again, token)).status).toBe(401);
    expect((await again.fetch('/api/ledger', withToken(token))).status).toBe(200);
  });

  test('a browser stores an invitation in a cookie that scripts cannot read', async () => {
    const node = await openTestNode();
    const { id, token } = await invite(node);
    await share(node, 'contribute', true);
    const enter = (text: string, headers = {}) =>
      node.fetch('/invitation', { method: 'POST', headers, body: new URLSearchParams({ token: text }) });
    expect(await problemOf(enter('wrong'))).toMatchObject({
      status: 401,
      code: 'invitation_required',
      detail: expect.stringContaining('not valid'),
    });
    expect((await enter(token, { Origin: 'http://evil.example' })).status).toBe(403);
    const entered = await enter(token);
    expect(entered.status).toBe(204);
    const cookie = entered.headers.get('Set-Cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const headers = { Cookie: cookie.split(';', 1)[0] ?? '' };
    const session = async () => (await node.fetch('/api/session', { headers })).json();
    expect(await session()).toMatchObject({ owner: false, may_contribute: true });
    expect((await node.fetch('/manage/settings', { headers })).status).toBe(401);
    await node.fetchAsOwner(`/manage/invitations/${id}`, { method: 'DELETE' });
    expect(await session()).toMatchObject({ may_contribute: false });
  });

  test('all limits apply to invited visitors', async () => {
    const node = await openTestNode();
    const { token } = await invite(node);
    await share(node, 'contribute', true);
    await node.sendJson('PATCH', '/manage/settings', { ip_writes_per_hour: 1 });
    expect((await contribute(node, token)).status).toBe(201);
    expect((await contribute(node, token)).status).toBe(429);
  });

  test('the session says whether each visitor may contribute', async () => {
    const node = await openTestNode();
    const { token } = await invite(node);
    const may = async (init?: RequestInit) =>
      ((await (await node.fetch('/api/session', init)).json()) as { may_contribute: boolean }).may_contribute;
    const mayContribute = async () => [
      await may(),
      await may(withToken(token)),
      await may(withToken(node.token)),
    ];
    expect(await mayContribute()).toEqual([false, false, true]);
    await share(node, 'read');
    expect(await mayContribute()).toEqual([false, false, true]);
    await share(node, 'contribute', true);
    expect(await mayContribute()).toEqual([false, true, true]);
    await share(node, 'contribute');
    expect(await mayContribute()).toEqual([true, true, true]);
  });
});
