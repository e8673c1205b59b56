import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(async () => {
  await closeScriptedWebs();
  await closeTestNodes();
});

/** Starts a web server without robots.txt; one of its two pages changes once. */
async function changingWeb(): Promise<ScriptedWeb> {
  const web = await ScriptedWeb.open();
  web.script('/changes', page('one'), page('two'));
  web.script('/stays', page('same'));
  return web;
}

/** Writes a list of sources that ignore robots.txt. */
async function listOf(...urls: string[]): Promise<string> {
  const file = join(await temporaryFolder(), 'list.csv');
  await writeFile(file, `url,ignore_robots\n${urls.map((url) => `${url},true\n`).join('')}`);
  return file;
}

/** Creates a data folder whose collector neither pauses nor retries. */
async function folderWithoutRetries(): Promise<string> {
  const node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
  await node.close();
  return node.dataFolder;
}

describe('strongroom watch', () => {
  test('adds URLs to a data folder, and reports which are already watched or refused', async () => {
    const data = join(await temporaryFolder(), 'data');
    const first = await runHere(['watch', 'https://a.example/', 'https://b.example/', '--data', data]);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^https:\/\/a\.example\/ is watched as so_[0-9a-f]{20}\.\n/);
    const again = await runHere(['watch', 'https://a.example/', 'nonsense', '--data', data]);
    expect(again.code).toBe(1);
    expect(again.stdout).toContain('https://a.example/ is already watched');
    expect(again.stderr).toBe('nonsense was refused: url: Enter an absolute http or https URL.\n');
  });

  test('reads a list in the format of its file extension, and prints JSON', async () => {
    const data = await temporaryFolder();
    const file = await listOf('https://a.example/', 'https://b.example/');
    const { code, stdout } = await runHere(['watch', '--list', file, '--data', data, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      added: 2,
      already: 0,
      refused: 0,
      items: [{ line: 2 }, { line: 3 }],
    });
  });

  test('exits with 2 if there is nothing to add or no such list', async () => {
    for (const args of [[], ['--list', '/nowhere/list.txt'], ['https://a.example/', '--list', 'x']]) {
      const { code, stderr } = await runHere(['watch', ...args, '--data', await temporaryFolder()]);
      expect(code).toBe(2);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

describe('strongroom check', () => {
  test('prints the result for each source, and exits with 1 if a check failed', async () => {
    const web = await changingWeb();
    const data = await folderWithoutRetries();
    const list = await listOf(web.url('/changes'), web.url('/stays'));
    await runHere(['watch', '--list', list, '--data', data]);
    const first = await runHere(['check', '--data', data]);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toBe(
      `first seen  ${web.url('/changes')}\nfirst seen  ${web.url('/stays')}\n2 checked: 2 new or changed, 0 unchanged, 0 failed.\n`,
    );
    web.script('/stays', page('gone', { status: 404 }));
    const second = await runHere(['check', '--data', data, '--json']);
    expect(second.code).toBe(1);
    const { sources, ...counts } = JSON.parse(second.stdout) as { sources: object[] };
    expect(counts).toMatchObject({
      checked: 2,
      changed: 1,
      unchanged: 0,
      failed: 1,
      observer_offline: false,
    });
    expect(sources).toMatchObject([
      { url: web.url('/changes'), outcome: 'changed', events: ['changed'], error: null, status: 200 },
      { url: web.url('/stays'), outcome: 'failed', events: [], error: 'http_error', status: 404 },
    ]);
  });

  test('uses the node that has the data folder open, found by its endpoint file', async () => {
    const web = await changingWeb();
    const { dataFolder } = await openTestNode();
    const there = ['--data', dataFolder];
    const list = await listOf(web.url('/stays'));
    expect((await runHere(['watch', '--list', list, ...there])).code).toBe(0);
    const first = await runHere(['check', ...there]);
    expect(first.stdout).toContain(`first seen  ${web.url('/stays')}\n`);
    const second = await runHere(['check', ...there]);
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toContain(`unchanged   ${web.url('/stays')}\n`);
    const silent = await runHere(['check', '--data', dataFolder, '--url', 'http://127.0.0.1:9']);
    expect(silent.code).toBe(2);
    expect(silent.stderr).toBe('No node answers at http://127.0.0.1:9. Give its address with --url.\n');
  });

  test('exits with 2 if the folder holds no archive', async () => {
    const { code, stderr } = await runHere(['check', '--data', await temporaryFolder()]);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no archive in');
  });
});
