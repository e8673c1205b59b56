import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import { openCollectingNode } from '../collection/support.ts';
import { end, serveNode } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { requireOnLinux } from '../support/requirements.ts';

/*
 * Pages that fill the memory of a machine, or kill their browser, at a real node; and a node that is killed while it draws.
 */
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const GIGABYTE = 1_000_000_000;

const BOMBS: Record<string, string> = {
  'arrays without end': 'const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))',
  'buffers of 20 GB': 'const a = []; for (let i = 0; i < 200; i++) a.push(new Uint8Array(1e8).fill(1))',
  'a canvas of 4 GB':
    'const c = document.body.appendChild(document.createElement("canvas")); c.width = c.height = 32767; c.getContext("2d").fillRect(0, 0, 32767, 32767); c.toDataURL()',
  'canvases without end':
    'for (let i = 0; i < 500; i++) { const c = document.body.appendChild(document.createElement("canvas")); c.width = c.height = 4000; c.getContext("2d").fillRect(0, 0, 4000, 4000) }',
  'frames that fill memory':
    'for (let i = 0; i < 30; i++) document.body.append(Object.assign(document.createElement("iframe"), { srcdoc: "<script>const a = []; for (let i = 0; i < 20; i++) a.push(new Uint8Array(1e8).fill(1)); window.a = a</scr" + "ipt>" }))',
  'workers that fill memory':
    'const u = URL.createObjectURL(new Blob(["const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))"])); for (let i = 0; i < 20; i++) new Worker(u)',
  'elements without end': 'for (;;) document.body.append(document.createElement("p"))',
  'text without end': 'let t = "x"; for (;;) { t += t; document.body.append(t) }',
};

/** The processes whose arguments name this folder, with the memory that each alone holds. */
async function processesIn(folder: string): Promise<{ pid: number; bytes: number }[]> {
  const found: { pid: number; bytes: number }[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
      if (!command.includes(folder) || !command.includes('--type')) continue;
      const [, pages = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ').map(Number);
      found.push({ pid: Number(pid), bytes: (pages - shared) * 4096 });
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

test('memory bombs end within their bounds, other pages are captured meanwhile, and nothing is left', async ({
  skip,
}) => {
  requireOnLinux(process.platform === 'linux', 'The memory of browsers is watched on Linux.', skip);
  const web = await ScriptedWeb.open();
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({ page_timeout_seconds: 6 }, { dataFolder });
  web.script('/quiet', answer('<p>quiet', HTML));
  const quiet = await node.watch(web.url('/quiet'), { capture: 'page' });
  for (const [index, [name, script]] of Object.entries(BOMBS).entries()) {
    web.script(`/${index}`, answer(`<p>text<script>${script}</script>`, HTML));
    const { id } = await node.watch(web.url(`/${index}`), { capture: 'page' });
    let peak = 0;
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const held = (await processesIn(dataFolder)).reduce((sum, { bytes }) => sum + bytes, 0);
        peak = Math.max(peak, held);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const started = performance.now();
    const { failed } = await node.check([id, quiet.id]);
    const seconds = (performance.now() - started) / 1000;
    over.abort();
    await watching;
    const { page_error } = await node.source(id);
    console.log(`${name}: ${seconds.toFixed(1)} s, ${(peak / GIGABYTE).toFixed(1)} GB, ${page_error}`);
    expect(failed, name).toBe(0);
    expect(page_error, name).toBeOneOf([null, 'page_crashed', 'page_timeout', 'page_too_large']);
    expect(peak, name).toBeLessThan(5 * GIGABYTE);
    // Whoever was drawn beside it may have shared its browser, but is drawn again.
    await node.check([quiet.id]);
    expect((await node.source(quiet.id)).page_error, name).toBeNull();
  }
  await closeTestNodes();
  await eventually(async () => expect(await processesIn(dataFolder)).toEqual([]));
});

test('a node that is killed while it draws leaves no process, and no profile after its next start', async ({
  skip,
}) => {
  requireOnLinux(process.platform === 'linux', 'Processes are found by /proc.', skip);
  const web = await ScriptedWeb.open();
  web.script('/', answer('<p>text<script>setInterval(() => fetch("/part"), 10)</script>', HTML));
  const dataFolder = join(await temporaryFolder(), 'data');
  const killed = await serveNode(dataFolder);
  const token = await readFile(killed.token_file, 'utf8');
  const ask = (url: string, method: string, path: string, body: object) =>
    fetch(url + path, {
      method,
      body: JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    });
  await ask(killed.url, 'PATCH', '/manage/settings', { per_host_pause_ms: 0 });
  await ask(killed.url, 'POST', '/manage/sources', { url: web.url('/'), capture: 'page' });
  await ask(killed.url, 'POST', '/manage/collections', {});
  await web.asked('/part');
  expect((await processesIn(dataFolder)).length).toBeGreaterThan(0);
  await end(killed, 'SIGKILL');
  await eventually(async () => expect(await processesIn(dataFolder)).toEqual([]));
  const next = await serveNode(dataFolder);
  const left = (await readdir(join(dataFolder, 'tmp'))).filter((name) => name.startsWith('browser-'));
  expect(left).toEqual([]);
  const round = await ask(next.url, 'POST', '/manage/collections?wait=true', {});
  expect(await round.json()).toMatchObject({ failed: 0 });
  const pages = (await (await fetch(`${next.url}/archive/pages`)).json()) as PageList;
  expect(pages.items).toHaveLength(1);
  await end(next, 'SIGTERM');
  await eventually(async () => expect(await processesIn(dataFolder)).toEqual([]));
});
