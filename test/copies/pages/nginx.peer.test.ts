import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { Copy } from '../../../shared/node/copy.ts';
import { filledArchive } from '../../dump/filledArchive.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { codeBlocksOf } from '../../support/docs.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';
import { readPages } from './readPages.ts';

let nginx: ChildProcess | undefined;
afterEach(async () => {
  if (nginx && nginx.exitCode === null) {
    nginx.kill();
    await once(nginx, 'exit');
  }
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Starts nginx with the settings of the documentation. Returns its address. */
async function serve(folder: string): Promise<string> {
  const prefix = await temporaryFolder();
  await mkdir(join(prefix, 'temp'));
  const port = await freePort();
  const site = (await codeBlocksOf('static-archive.md', 'nginx')).get('site');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(prefix, 'temp', name)};`,
  );
  const lines = [
    'daemon off;',
    'user root;',
    `pid ${join(prefix, 'pid')};`,
    `error_log ${join(prefix, 'errors')};`,
    'events {}',
    'http {',
    'include /etc/nginx/mime.types;',
    'access_log off;',
    ...temporary,
    `server { listen 127.0.0.1:${port}; root ${folder}; ${site} }`,
    '}',
  ];
  const settings = join(prefix, 'nginx.conf');
  await writeFile(settings, lines.join('\n'));
  nginx = spawn('nginx', ['-c', settings, '-p', prefix], { stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}/`;
  await eventually(async () => expect((await fetch(url)).status).toBe(200));
  return url;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('nginx serves every page, and every object as bytes that cannot run', async ({ skip }) => {
  await requirePrograms(['nginx'], skip);
  const { node } = await filledArchive(join(await temporaryFolder(), 'data'));
  const place = join(await temporaryFolder(), 'copy');
  const target = pathToFileURL(place).href;
  const { id } = (await (
    await node.sendJson('POST', '/manage/copies', { target, pages: true })
  ).json()) as Copy;
  await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  const url = await serve(place);
  for (const [path, text] of await readPages(place)) {
    const answer = await fetch(url + path);
    expect(await answer.text(), path).toBe(text);
    if (path.endsWith('.html')) expect(answer.headers.get('Content-Type')).toMatch(/^text\/html/);
    if (path.endsWith('.js')) expect(answer.headers.get('Content-Type')).toMatch(/javascript/);
  }
  expect(await (await fetch(url)).text()).toContain('<h1>');
  const objects = (await readdir(join(place, 'archive'))).filter((name) => !name.includes('.'));
  for (const sha256 of objects) {
    const answer = await fetch(`${url}archive/${sha256}`);
    expect(sha256Of(new Uint8Array(await answer.arrayBuffer()))).toBe(sha256);
    expect(answer.headers.get('Content-Type')).toBe('application/octet-stream');
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(answer.headers.get('Content-Security-Policy')).toContain('sandbox');
  }
});
