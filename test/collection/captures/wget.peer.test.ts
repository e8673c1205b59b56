import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import {
  chunked,
  closeScriptedWebs,
  page,
  redirect,
  ScriptedWeb,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';
import { sha256 } from '../../support/warcFiles.ts';
import { openCollectingNode } from '../support.ts';
import { imported, sourceNamed } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const run = promisify(execFile);

test('imports files written by wget --warc-file, compressed or not', async ({ skip }) => {
  await requirePrograms(['wget'], skip);
  const web = await ScriptedWeb.open();
  web.script('/page', page('<title>Levels</title>12.7'));
  web.script('/chunks', chunked(['one ', 'two']));
  web.script('/target', page('another'));
  web.script('/old', redirect('/target'));
  const folder = await temporaryFolder();
  const paths = ['/page', '/chunks', '/old', '/missing'];
  const urls = paths.map((path) => web.url(path));
  for (const [name, more] of [
    ['plain', ['--no-warc-compression']],
    ['packed', []],
  ] as const) {
    const args = ['-q', '-t', '1', '-O', '/dev/null', ...more, `--warc-file=${name}`, ...urls];
    // wget exits with 8 because one page is missing.
    await run('wget', args, { cwd: folder }).catch((error: { code: number }) => expect(error.code).toBe(8));
  }
  for (const file of ['plain.warc', 'packed.warc.gz']) {
    const node = await openCollectingNode();
    const result = await imported(node, await readFile(join(folder, file)), { observer: 'wget' });
    expect(result).toMatchObject({ captures: 5, refused: [] });
    expect(result.events).toHaveLength(4);
    const attemptsOn = async (path: string) => {
      const retrievals = await node.retrievals((await sourceNamed(node, web.url(path))).id);
      return retrievals.map(({ status, error, sha256: digest }) => [status, error, digest]);
    };
    expect(await attemptsOn('/chunks')).toEqual([[200, null, sha256('one two')]]);
    expect(await attemptsOn('/old')).toEqual([[200, null, sha256('another')]]);
    expect(await attemptsOn('/missing')).toEqual([[404, 'http_error', sha256('Not here.')]]);
    expect(await attemptsOn('/page')).toEqual([[200, null, sha256('<title>Levels</title>12.7')]]);
    await node.node.close();
  }
});

test('imports the revisits of wget --warc-dedup', async ({ skip }) => {
  await requirePrograms(['wget'], skip);
  const web = await ScriptedWeb.open();
  web.script('/page', page('<title>Levels</title>12.7'));
  const folder = await temporaryFolder();
  const save = (...more: string[]) =>
    run('wget', ['-q', '-O', '/dev/null', ...more, web.url('/page')], { cwd: folder });
  await save('--warc-cdx', '--warc-file=first');
  await save('--warc-dedup=first.cdx', '--warc-file=second');
  const second = await readFile(join(folder, 'second.warc.gz'));
  expect(gunzipSync(second).toString('latin1')).toContain('WARC-Type: revisit');
  const node = await openCollectingNode();
  await imported(node, await readFile(join(folder, 'first.warc.gz')), { observer: 'first' });
  expect(await imported(node, second, { observer: 'second' })).toMatchObject({ captures: 1, refused: [] });
  const retrievals = await node.retrievals((await sourceNamed(node, web.url('/page'))).id);
  expect(retrievals.map(({ status, sha256: digest }) => [status, digest])).toEqual([
    [200, sha256('<title>Levels</title>12.7')],
    [200, sha256('<title>Levels</title>12.7')],
  ]);
});
