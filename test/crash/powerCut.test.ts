import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import type { CollectionResult } from '../../shared/collection/collection.ts';
import { packForm, sampleRecord } from '../support/archive/packs.ts';
import { ControlledDisk, closeControlledDisks } from '../support/disk/controlledDisk.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';

const SOURCES = 12;
const PACKS = 12;

afterEach(async () => {
  await closeControlledDisks();
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Requires that a power cut now loses none of this many small objects, whatever was not synced. */
async function expectDurable(disk: ControlledDisk, count: number): Promise<void> {
  const calls = await disk.calls();
  const renames = calls.flatMap((call, index) => (/^rename blobs\/../.test(call) ? [{ call, index }] : []));
  expect(renames).toHaveLength(count);
  for (const [number, { call, index }] of renames.entries()) {
    // Each has its own file in tmp/, which is synced before it gets its name.
    const synced = calls.slice(0, index).filter((before) => before.startsWith('sync tmp/'));
    expect(synced.length, call).toBeGreaterThan(number);
    const folder = call.slice('rename '.length, call.lastIndexOf('/'));
    expect(calls.slice(index), call).toContain(`sync ${folder}`);
  }
}

async function asOwner(disk: ControlledDisk, method: string, path: string, body: object): Promise<unknown> {
  const answer = await disk.send(method, path, body);
  expect(answer.ok).toBe(true);
  return answer.json();
}

test('every object of an answered round survives a power cut', async () => {
  const web = await ScriptedWeb.open();
  const disk = await ControlledDisk.serve();
  await asOwner(disk, 'PATCH', '/manage/settings', { per_host_pause_ms: 0, per_host_concurrency: 10 });
  for (let number = 0; number < SOURCES; number += 1) {
    web.script(`/${number}`, page(`<title>Page ${number}</title>${'words '.repeat(200)}`));
    await asOwner(disk, 'POST', '/manage/sources', { url: web.url(`/${number}`) });
  }
  const round = (await asOwner(disk, 'POST', '/manage/collections?wait=true', {})) as CollectionResult;
  expect(round.changed).toBe(SOURCES);
  await expectDurable(disk, SOURCES);
});

test('every acknowledged small pack survives a power cut', async () => {
  const disk = await ControlledDisk.serve();
  const uploads = Array.from({ length: PACKS }, async (_, number) => {
    const files = { 'data.csv': `data ${number}\n`.repeat(1_000) };
    const answer = await disk.send(
      'POST',
      '/api/packs',
      packForm(sampleRecord({ title: `Pack ${number}` }), files),
    );
    expect(answer.status).toBe(201);
    return ((await answer.json()) as Pack).id;
  });
  const ids = await Promise.all(uploads);
  await expectDurable(disk, PACKS);
  await disk.kill();
  await disk.start();
  for (const id of ids) {
    const verification = await (await disk.send('GET', `/api/packs/${id}/verify`)).json();
    expect(verification).toMatchObject({ id, ok: true });
  }
});
