import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { packForm, sampleRecord } from '../support/archive/packs.ts';
import { end, serveNodeWith } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

const PRELOAD = new URL('./killAtStep.ts', import.meta.url).href;
afterEach(closeTestNodes);

/** Serves an archive, and lets its two objects leave. The process is killed when it deletes their files. */
async function killedAt(step: number, data: string, place: string): Promise<string[]> {
  const env = { STRONGROOM_TEST_KILL_FOLDER: join(data, 'blobs'), STRONGROOM_TEST_KILL_AT: String(step) };
  const served = await serveNodeWith({ nodeOptions: [`--import=${PRELOAD}`], env }, data);
  const ended = once(served.child, 'exit');
  const headers = { Authorization: `Bearer ${await readFile(served.token_file, 'utf8')}` };
  const json = { ...headers, 'Content-Type': 'application/json' };
  const send = async (method: string, path: string, body?: object) => {
    const init = body ? { body: JSON.stringify(body), headers: json } : { headers };
    const answer = await fetch(served.url + path, { method, ...init });
    expect(answer.ok, `${path}: ${answer.status}`).toBe(true);
    return (await answer.json()) as { id: string };
  };
  try {
    const body = packForm(sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
    const added = await fetch(`${served.url}/api/packs`, { method: 'POST', body, headers });
    const { files } = (await added.json()) as Pack;
    const { id } = await send('POST', '/manage/copies', { target: pathToFileURL(place).href });
    await send('POST', `/manage/copies/${id}/sync?wait=true`);
    await send('POST', `/manage/copies/${id}/check?wait=true`, {});
    await send('PATCH', '/manage/settings', { offload_after_days: 0 });
    expect(await ended).toEqual([null, 'SIGKILL']);
    return files.map(({ sha256 }) => sha256);
  } finally {
    if (served.child.exitCode === null && served.child.signalCode === null) await end(served, 'SIGKILL');
  }
}

test.each([
  ['before a file is deleted', 1, 2],
  ['after a file was deleted', 2, 1],
])('killed %s, every object can be read, and the next run goes on', async (_when, step, left) => {
  const [data, place] = [join(await temporaryFolder(), 'data'), join(await temporaryFolder(), 'copy')];
  const digests = await killedAt(step, data, place);
  const file = (sha256: string) => join(data, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  expect(digests.filter((sha256) => existsSync(file(sha256)))).toHaveLength(left);
  const node = await openTestNode({ dataFolder: data });
  const read = (sha256: string) => node.fetch(`/api/blobs/${sha256}`).then((answer) => answer.text());
  expect((await Promise.all(digests.map(read))).sort()).toEqual(['one', 'two']);
  const run = await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  expect(run.status).toBe(200);
  expect(digests.filter((sha256) => existsSync(file(sha256)))).toEqual([]);
  expect((await Promise.all(digests.map(read))).sort()).toEqual(['one', 'two']);
  const state = await (await node.fetchAsOwner('/manage/offload')).json();
  expect(state).toMatchObject({ offloaded_objects: 2, local_bytes: 0 });
});
