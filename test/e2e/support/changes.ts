import { expect, type Page } from '@playwright/test';
import { PNG } from 'pngjs';
import type { NodeProcess } from './nodeProcess.ts';
import type { ScriptedWeb } from './scriptedWeb.ts';

interface Change {
  name: string;
  type: string;
  from: string | Buffer;
  to: string | Buffer;
  noise_rules?: { kind: string; value: string; note: string }[];
}

/** Watches a source for each change and checks it with both versions. Returns the ids of the resulting events. */
export async function collectChanges(
  page: Page,
  node: NodeProcess,
  web: ScriptedWeb,
  changes: Change[],
): Promise<number[]> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const publish = (version: 'from' | 'to') => {
    for (const { name, type, [version]: body } of changes) {
      web.publish(`/${name}`, { headers: { 'Content-Type': type }, body });
    }
    return page.request;
  };
  const ids: string[] = [];
  for (const { name, noise_rules = [] } of changes) {
    const data = { url: web.url(`/${name}`), name, noise_rules };
    const answer = await page.request.post(`${node.url}/manage/sources`, { data });
    ids.push(((await answer.json()) as { id: string }).id);
  }
  const events: number[] = [];
  for (const version of ['from', 'to'] as const) {
    const request = publish(version);
    events.length = 0;
    for (const id of ids) {
      const answer = await request.post('/manage/collections?wait=true', { data: { sources: [id] } });
      events.push(...((await answer.json()) as { events: number[] }).events);
    }
  }
  return events;
}

/** Imports the node's own WARC export as captures of another observer. */
export async function importOwnCaptures({ url, token }: NodeProcess, observer: string): Promise<void> {
  const file = await (await fetch(`${url}/api/warc`)).arrayBuffer();
  const answer = await fetch(`${url}/manage/captures?observer=${encodeURIComponent(observer)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/warc' },
    body: file,
  });
  expect(answer.status).toBe(200);
}

/** Returns a black PNG of 8 × 8 pixels whose first pixel has this value of red. */
export function picture(red: number): Buffer {
  const png = new PNG({ width: 8, height: 8 });
  for (let at = 3; at < png.data.length; at += 4) png.data[at] = 255;
  png.data[0] = red;
  return PNG.sync.write(png);
}
