import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { Copy } from '../../shared/node/copy.ts';
import { openCollectingNode } from '../collection/support.ts';
import { problemOf, sha256Of } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../support/node.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const [OLD, NEW] = ['<title>Old</title><p>Tides rise</p>', '<title>New</title><p>Tides fall</p>'];

const [old, now] = [sha256Of(OLD), sha256Of(NEW)];

/** A node that has two versions of a page, both in a copy and not on its disk. */
async function offloadedVersions(source: object = {}) {
  const folder = join(await temporaryFolder(), 'data');
  const collecting = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
  const { node } = collecting;
  const web = await ScriptedWeb.open();
  web.script('/page', page(OLD), page(NEW), page(NEW), page(NEW));
  const { id: watched } = await collecting.watch(web.url('/page'), source);
  await collecting.check();
  await collecting.check();
  const place = join(await temporaryFolder(), 'copy');
  const added = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(place).href });
  const { id } = (await added.json()) as Copy;
  await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  await node.sendJson('POST', `/manage/copies/${id}/check?wait=true`, {});
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  return { collecting, folder, place, watched };
}

test('what sources brought is shown, read, compared and exported from a copy', async () => {
  const { collecting, folder, place } = await offloadedVersions();
  const { node } = collecting;
  const isHere = (sha256: string) =>
    existsSync(join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256));
  expect([isHere(old), isHere(now)]).toEqual([false, false]);

  await rename(place, `${place}-unplugged`);
  const [event] = await collecting.events('event_type=changed');
  for (const path of [`/archive/${old}`, `/archive/${old}/metadata`, `/archive/${old}/page`])
    expect(await problemOf(node.fetch(path)), path).toMatchObject({ code: 'copy_unreachable' });
  expect((await node.fetch(`/api/events/${event?.id}`)).status).toBe(200);
  await rename(`${place}-unplugged`, place);

  expect(await (await node.fetch(`/archive/${old}`)).text()).toBe(OLD);
  expect(await (await node.fetch(`/archive/${old}/metadata`)).json()).toMatchObject({
    retrievals: [{ intact: true }],
  });
  expect(await (await node.fetch(`/archive/${old}/view`)).json()).toMatchObject({ kind: 'html' });
  expect(await (await node.fetch(`/archive/${old}/page`)).text()).toContain('Tides rise');
  expect(await (await node.fetch(`/archive/${now}/text`)).json()).toMatchObject({ title: 'New' });
  expect(await (await node.fetch(`/api/events/${event?.id}/diff`)).json()).toMatchObject({ kind: 'html' });
  expect(await (await node.fetch('/api/warc')).text()).toContain('Tides rise');
  await collecting.check();
  expect(isHere(now), 'the same bytes are not stored again').toBe(false);
});

test.each(['warc', 'wacz'])('an object that every copy has lost is left out of a %s file', async (format) => {
  const { collecting, place } = await offloadedVersions();
  const { node } = collecting;
  await rm(join(place, 'archive', old));
  const exportAll = async () => {
    const response = await node.fetch(`/api/${format}`);
    // One that is cut short rejects.
    await response.bytes();
    return response.status;
  };
  expect(await exportAll()).toBe(200);
  expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ items: [{ sha256: old }] });
  expect(await exportAll(), 'once the damage is recorded').toBe(200);
  const warc = await (await node.fetch('/api/warc')).text();
  expect(warc).toContain('Tides fall');
  expect(warc).toContain('object-state: missing or damaged');
  expect(warc).not.toContain('Tides rise');
});

test('a page is drawn from what its source delivers, also if only a copy had it, which is away', async () => {
  const { collecting, folder, place, watched } = await offloadedVersions({ capture: 'page' });
  await rename(place, `${place}-unplugged`);
  await collecting.check();
  expect(await collecting.read(`/api/sources/${watched}`)).toMatchObject({
    last_sha256: now,
    page_error: null,
  });
  expect(await collecting.read(`/archive/pages?source=${watched}`)).toMatchObject({ total: 3 });
  expect(existsSync(join(folder, 'blobs', now.slice(0, 2), now.slice(2, 4), now)), 'it is here again').toBe(
    true,
  );
});
