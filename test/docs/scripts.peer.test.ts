import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { codeBlocksOf } from '../support/docs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, type TestNode, temporaryFolder } from '../support/node.ts';
import { isInstalled, requirePrograms } from '../support/requirements.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  for (const proxy of proxies.splice(0)) proxy.close();
});

const run = promisify(execFile);
const TABLE = 'year,level\n2025,501\n';

/** A page with scripts. */
interface ScriptPage {
  document: string;
  /** The languages of the blocks that are files. */
  languages: readonly string[];
  /** The command that verifies a proof. */
  verify: string;
}

/** Saves the programs of a page, and returns a function that runs one of its commands. */
async function savedPage({ document, languages }: ScriptPage, node: TestNode) {
  const folder = await temporaryFolder();
  for (const language of languages)
    for (const [name, text] of await codeBlocksOf(document, language))
      if (name.includes('.')) await writeFile(join(folder, name), text);
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'data/levels.csv'), TABLE);
  const commands = await codeBlocksOf(document, 'sh');
  const output = async (name: string, variables: Record<string, string> = {}) => {
    const env = { ...process.env, NODE: node.url, TOKEN_FILE: node.tokenFile, ...variables };
    const command = ['-ec', `{ ${commands.get(name) ?? 'exit 9'}\n} 2>&1`];
    const { stdout } = await run('sh', command, { cwd: folder, env }).catch((error: unknown) => {
      throw new Error((error as { stdout?: string }).stdout, { cause: error });
    });
    return stdout;
  };
  return { folder, output };
}

/** Runs every example of a page against a node, and shows that its verification refuses what was altered. */
async function runPage(script: ScriptPage): Promise<void> {
  const web = await ScriptedWeb.open();
  web.script('/page', page('<p>as it was</p>'));
  const { node } = await openCollectingNode();
  for (const path of ['a', 'b', 'c']) await node.sendJson('POST', '/api/nodes', { path, title: 'É' });
  const { folder, output } = await savedPage(script, node);

  const [, id = '', digest = '', seq = ''] =
    /^(pk_\w+) (\w{64}) (\d+)\s*$/.exec(await output('publish')) ?? [];
  const pack = (await (await node.fetch(`/api/packs/${id}`)).json()) as { digest: string; files: object[] };
  expect(pack).toMatchObject({ digest, files: [{ path: /levels\.csv$/, sha256: sha256Of(TABLE) }] });
  await node.sendJson('POST', '/api/nodes', { path: 'd', title: 'after' });

  const watched = await output('watch', { URL: web.url('/page') });
  const [, sha256 = ''] = /^first_seen .*\b(\w{64})\s*$/m.exec(watched) ?? [];
  expect(sha256).toBe(sha256Of('<p>as it was</p>'));
  expect(await output('fetch', { SHA256: sha256 })).toMatch(/intact 16|fetched: OK/);
  expect(await readFile(join(folder, 'fetched'), 'utf8')).toBe('<p>as it was</p>');

  await output('keep');
  for (const number of [seq, '1'])
    expect(await output(script.verify, { SEQ: number })).toMatch(/in the ledger of "?node-/);
  await expect(output(script.verify, { SEQ: seq, NODE: await lyingProxy(node.url) })).rejects.toThrow(
    /NOT IN/,
  );
  const [name = ''] = (await readFile(join(folder, 'node.key'), 'utf8')).split('+');
  await writeFile(join(folder, 'node.key'), otherKey(name));
  await expect(output(script.verify, { SEQ: seq })).rejects.toThrow(/NOT SIGNED/);
}

const proxies: Server[] = [];

/** Serves what a node serves, with another type of the entries of packs. */
async function lyingProxy(url: string): Promise<string> {
  const proxy = createServer((request, response) => {
    void (async () => {
      const answer = await fetch(new URL(request.url ?? '', url));
      response.end((await answer.text()).replaceAll('"pack.added"', '"pack.adder"'));
    })();
  });
  proxies.push(proxy.listen(0, '127.0.0.1'));
  await once(proxy, 'listening');
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Returns another verifier key with the same name (C2SP signed-note). */
function otherKey(name: string): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const key = Buffer.concat([Buffer.of(1), Buffer.from(x, 'base64url')]);
  const id = createHash('sha256').update(`${name}\n`).update(key).digest('hex').slice(0, 8);
  return `${name}+${id}+${key.toString('base64')}\n`;
}

test('the programs in scripts/python.md publish, watch, fetch and verify', async ({ skip }) => {
  await requirePrograms(['python3', 'openssl'], skip);
  await runPage({ document: 'scripts/python.md', languages: ['python', 'json'], verify: 'verify' });
});

test('the programs in scripts/shell.md publish, watch, fetch and verify', async ({ skip }) => {
  await requirePrograms(['curl', 'openssl', 'sha256sum'], skip);
  await runPage({ document: 'scripts/shell.md', languages: ['sh', 'json'], verify: 'proof' });
});

test('the programs in scripts/r.md publish, watch, fetch and verify', async ({ skip }) => {
  const packages = 'for (name in c("curl", "jsonlite", "openssl")) library(name, character.only = TRUE)';
  const has =
    (await isInstalled('Rscript')) &&
    (await run('Rscript', ['-e', packages]).then(
      () => true,
      () => false,
    ));
  skip(!has, 'R is not installed, or not with the packages that the page names.');
  await runPage({ document: 'scripts/r.md', languages: ['r', 'json'], verify: 'verify' });
});
