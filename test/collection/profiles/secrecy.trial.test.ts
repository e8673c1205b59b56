import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { addCopy, filesWith, sync } from '../../copies/withheldCopies.ts';
import { extract } from '../../support/extract.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { builtInterface } from '../../withholding/support.ts';
import { CollectingNode, openCollectingNode } from '../support.ts';
import { addProfile, CANARY, cookie, members, readProfile } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const STORED = 'canary-stored-9Qw7Zx21';
const ROTATED = 'canary-rotated-4Tb6Yp83';
const SECRETS = [CANARY, STORED, ROTATED];

/** A log that keeps what it is told. */
function keptLog() {
  const lines: string[] = [];
  const keep = (details: object, message: string) => {
    const seen = Object.entries(details).map(([name, value]) =>
      value instanceof Error
        ? [name, value.stack, value.message, Object.entries(value), value.cause]
        : [name, value],
    );
    lines.push(JSON.stringify([message, seen]));
  };
  return { lines, log: { info: keep, warn: keep, error: keep } };
}

test('no byte of a cookie or of the storage is in the data folder, a dump, a copy, an export, evidence or the log', async () => {
  const web = await ScriptedWeb.open();
  const html = { 'content-type': 'text/html' };
  // A site that repeats the session in addresses and in headers.
  web.script('/', redirect(`/home?session=${CANARY}`));
  web.script(
    `/home?session=${CANARY}`,
    members('<title>Mine</title><p>For members.</p><img src="/pixel">', CANARY, {
      ...html,
      'Set-Cookie': `csrf=${ROTATED}; Path=/`,
      'X-CSRF-Token': ROTATED,
      'X-Debug': `user of ${CANARY}`,
    }),
  );
  web.script('/pixel', page('pixel'));
  web.script('/expired', redirect(`/login?from=${CANARY}`));
  web.script(`/login?from=${CANARY}`, page('<p>Log in</p>'));
  const { lines, log } = keptLog();
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder, log, rendererFolder: await builtInterface() });
  const { id: profile } = await addProfile(node, {
    storage_state: {
      cookies: [cookie()],
      origins: [{ origin: web.url('').replace(/\/$/, ''), localStorage: [{ name: 'token', value: STORED }] }],
    },
  });
  const { id } = await node.watch(web.url('/'), { profile, capture: 'page' });
  await node.watch(web.url('/expired'), { profile });
  await node.check();
  await node.check();
  expect(web.requests(`/home?session=${CANARY}`)[1]?.headers.cookie).toContain(ROTATED);
  expect(await readProfile(node, profile)).toMatchObject({ state: 'expired', cookies: 2 });
  const [retrieval] = await node.retrievals(id);
  expect(retrieval).toMatchObject({
    final_url: web.url('/home?session=withheld'),
    redirects: [{ url: web.url('/'), status: 302 }],
  });

  const owner = async (path: string) => {
    const response = await node.node.fetchAsOwner(path);
    expect(response.status, path).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  };
  const outputs = join(await temporaryFolder(), 'outputs');
  await mkdir(outputs);
  const copy = await addCopy(node.node, join(outputs, 'backup'), { pages: false });
  await sync(node.node, copy);
  const readable = await addCopy(node.node, join(outputs, 'pages'), { pages: true });
  await sync(node.node, readable);
  const [event] = await node.events();
  await writeFile(join(outputs, 'dump.jsonl'), await owner('/api/dump.jsonl'));
  await writeFile(join(outputs, 'warc'), await owner('/api/warc'));
  await writeFile(join(outputs, 'evidence.html'), await owner(`/api/events/${event?.id}/evidence`));
  await writeFile(join(outputs, 'sources.json'), await owner('/manage/sources'));
  await writeFile(join(outputs, 'profiles.json'), await owner('/manage/profiles'));
  await writeFile(join(outputs, 'retrievals.json'), await owner('/api/retrievals?limit=500'));
  const wacz = join(outputs, 'pages.wacz');
  await writeFile(wacz, await owner('/api/wacz'));
  await extract(wacz, join(outputs, 'wacz'));
  await writeFile(
    join(outputs, 'wacz', 'data.warc'),
    gunzipSync(await readFile(join(outputs, 'wacz', 'archive', 'data.warc.gz'))),
  );
  await node.node.close();
  const zip = join(outputs, 'archive.zip');
  expect(await runHere(['export', '--data', dataFolder, '--out', zip])).toMatchObject({ code: 0 });
  await extract(zip, join(outputs, 'exported'));

  for (const secret of SECRETS) {
    expect(await filesWith(dataFolder, secret), secret).toEqual([]);
    expect(await filesWith(outputs, secret), secret).toEqual([]);
    expect(lines.join('\n')).not.toContain(secret);
  }
});

test('a restored archive has no login, says so, and records no login page as a change', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members('<p>For members.</p>'));
  web.script('/login?next=x', page('<p>Log in</p>'));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  await node.check();
  const { last_sha256 } = await node.source(id);
  const folder = await temporaryFolder();
  const zip = join(folder, 'archive.zip');
  const { dataFolder: from } = node.node;
  await node.node.close();
  expect(await runHere(['export', '--data', from, '--out', zip])).toMatchObject({ code: 0 });
  const dataFolder = join(folder, 'restored');
  expect(await runHere(['import', zip, '--data', dataFolder])).toMatchObject({ code: 0 });
  const restored = new CollectingNode(await openTestNode({ dataFolder }));
  const asked = web.requestCount;
  expect(await restored.source(id)).toMatchObject({ profile: null, login: 'missing' });
  expect(await restored.check()).toMatchObject({ failed: 1, events: [] });
  expect(web.requestCount).toBe(asked);
  expect(await restored.source(id)).toMatchObject({ last_error: 'profile_missing', last_sha256 });
  expect(await restored.read('/api/ledger/verify')).toMatchObject({ ok: true });
  expect((await restored.node.fetch(`/archive/${last_sha256}`)).status).toBe(451);
  const { id: next } = await addProfile(restored);
  await restored.node.sendJson('PATCH', `/manage/sources/${id}`, { profile: next });
  expect(await restored.check()).toMatchObject({ failed: 0, unchanged: 1 });
});
