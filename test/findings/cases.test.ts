import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'cheerio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../renderer/inlineScripts.ts';
import { blobPath } from '../../server/store/files.ts';
import type { Case } from '../../shared/findings/case.ts';
import { openCollectingNode } from '../collection/support.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { extract, run } from '../support/extract.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addFinding, createCase } from './support.ts';

let node: TestNode;
let pack: string;
let finding: string;
let versions: string[];
let rendererFolder: string;

/** Runs `strongroom verify` as the program that the node is of. */
function verify(path: string) {
  return runHere(['verify', path], undefined, { rendererFolder });
}

beforeAll(async () => {
  rendererFolder = await temporaryFolder();
  await mkdir(join(rendererFolder, 'evidence'));
  await writeFile(join(rendererFolder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(rendererFolder, EVIDENCE_STYLE), await readEvidenceStyle());
  const collecting = await openCollectingNode({}, { rendererFolder });
  ({ node } = collecting);
  const web = await ScriptedWeb.open();
  web.script('/page', page('<p>one'), page('<p>two<script>alert(1)</script>'));
  await collecting.watch(web.url('/page'));
  await collecting.check();
  await collecting.check();
  const events = await collecting.events();
  versions = events.map(({ sha256 }) => sha256 ?? '');
  ({ id: pack } = await uploadNewPack(node, undefined, { 'a.csv': 'a\n1\n' }));
  const passage = { sha256: versions[0], exact: 'two' };
  ({ id: finding } = await addFinding(node, { kind: 'event', id: '2' }, { text: '<b>bold</b>', passage }));
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const items = () => [
  { kind: 'event' as const, id: '2', note: 'The change' },
  { kind: 'pack' as const, id: pack },
  { kind: 'finding' as const, id: finding },
];
const patch = (id: string, body: object) => node.sendJson('PATCH', `/manage/cases/${id}`, body);
const add = (id: string, item: object) => node.sendJson('POST', `/manage/cases/${id}/items`, item);

describe('a case', () => {
  test('is created, reordered, extended and deleted by the owner, and read by everyone who may read', async () => {
    const created = await createCase(node, 'Fees', items());
    expect(created).toMatchObject({
      revision: 1,
      items: [{ id: '2', note: 'The change' }, { id: pack }, { name: '<b>bold</b>' }],
    });
    const reversed = created.items.map(({ kind, id, note }) => ({ kind, id, note })).reverse();
    const changed = (await (await patch(created.id, { revision: 1, items: reversed })).json()) as Case;
    expect(changed.items.map(({ kind }) => kind)).toEqual(['finding', 'pack', 'event']);
    expect(await problemOf(patch(created.id, { revision: 1, title: 'Late' }))).toMatchObject({
      status: 409,
      code: 'case_changed',
    });
    const extended = (await (await add(created.id, { kind: 'event', id: '1' })).json()) as Case;
    const again = (await (await add(created.id, { kind: 'event', id: '1', note: 'Again' })).json()) as Case;
    expect(again).toEqual(extended);
    expect(extended).toMatchObject({ revision: 3, items: { length: 4 } });
    expect(await (await node.fetch(`/api/cases/${created.id}`)).json()).toEqual(extended);
    expect(await (await node.fetch('/api/cases?q=fee')).json()).toMatchObject({
      total: 1,
      items: [{ items: 4 }],
    });
    expect(await (await node.fetch('/api/cases?q=other')).json()).toMatchObject({ total: 0 });
    const removed = await node.fetchAsOwner(`/manage/cases/${created.id}`, { method: 'DELETE' });
    expect(removed.status).toBe(204);
    expect(await problemOf(node.fetch(`/api/cases/${created.id}`))).toMatchObject({ status: 404 });
  });

  test('refuses what the archive does not hold, an item twice, and visitors', async () => {
    const { id } = await createCase(node, 'Refusals', []);
    expect(await problemOf(add(id, { kind: 'event', id: '99' }))).toMatchObject({ code: 'unknown_target' });
    const twice = [
      { kind: 'pack', id: pack },
      { kind: 'pack', id: pack },
    ];
    expect(await problemOf(patch(id, { revision: 1, items: twice }))).toMatchObject({ status: 422 });
    expect(await problemOf(node.fetch(`/manage/cases/${id}`, { method: 'DELETE' }))).toMatchObject({
      code: 'owner_required',
    });
    expect(await problemOf(add('ca_00000000000000000000', { kind: 'pack', id: pack }))).toMatchObject({
      status: 404,
    });
    expect(await problemOf(node.fetch('/api/cases/ca_00000000000000000000/bag'))).toMatchObject({
      status: 404,
    });
  });
});

async function downloadBag({ id }: Case): Promise<{ zip: string; root: string; folder: string }> {
  const answer = await node.fetch(`/api/cases/${id}/bag`);
  expect(answer.status).toBe(200);
  const folder = await temporaryFolder();
  const zip = join(folder, 'case.zip');
  await writeFile(zip, Buffer.from(await answer.arrayBuffer()));
  await extract(zip, folder);
  return { zip, folder, root: join(folder, `strongroom-case-${id}`) };
}

describe('the bag of a case', () => {
  test('holds evidence, packs, objects and findings, and is verified by this program and by sha256sum', async () => {
    const { root, zip } = await downloadBag(await createCase(node, 'A case', items()));
    expect((await run('sha256sum', ['-c', '--strict', 'manifest-sha256.txt'], root)).split('\n')).toContain(
      `data/packs/${pack}.pack.zip: OK`,
    );
    await run('sha256sum', ['-c', '--strict', 'tagmanifest-sha256.txt'], root);
    const manifest = (await run('cat', ['manifest-sha256.txt'], root)).trim().split('\n');
    expect(manifest.map((line) => line.slice(66)).sort()).toEqual(
      [
        'index.html',
        'README.txt',
        'case.json',
        'findings.jsonld',
        ...['json', 'entry.json', 'tlog-proof'].map((ending) => `findings/${finding}.${ending}`),
        'evidence/event-2.evidence.html',
        `evidence/${pack}.evidence.html`,
        `packs/${pack}.pack.zip`,
        ...versions.map((sha256) => `objects/${sha256}`),
      ]
        .map((path) => `data/${path}`)
        .sort(),
    );
    const evidence = join(root, 'data', 'evidence', 'event-2.evidence.html');
    for (const path of [zip, root, evidence, join(root, 'data', 'packs', `${pack}.pack.zip`)]) {
      const { code, stdout } = await verify(path);
      expect(code, stdout).toBe(0);
    }
    const record = await run('sha256sum', [`findings/${finding}.json`], join(root, 'data'));
    const entry = JSON.parse(
      await run('cat', [`findings/${finding}.entry.json`], join(root, 'data')),
    ) as object;
    expect(entry).toMatchObject({ type: 'finding.added', digest: record.slice(0, 64) });
    await writeFile(join(root, 'data', 'case.json'), '{}');
    expect((await verify(root)).code).toBe(1);
  });

  test('says nothing that the request says, because the key of the node seals it', async () => {
    const { id } = await createCase(node, 'Seen from anywhere', items());
    const named = async () => {
      const folder = await temporaryFolder();
      const zip = join(folder, 'case.zip');
      // Any loopback address and any port may lead to the node.
      const { body } = await rawRequest(`${node.url}/api/cases/${id}/bag`, {
        headers: { Host: '127.66.66.66:31337', 'X-Forwarded-Host': 'evil.example' },
        encoding: 'latin1',
      });
      await writeFile(zip, Buffer.from(body, 'latin1'));
      expect((await verify(zip)).code).toBe(0);
      await extract(zip, folder);
      return readFile(join(folder, `strongroom-case-${id}`, 'data', 'findings.jsonld'), 'utf8');
    };
    const own = await named();
    expect(own).not.toMatch(/31337|127\.|evil/);
    const [name = ''] = (await (await node.fetch('/api/ledger/key')).text()).split('+');
    expect(own).toContain(`"id":"urn:strongroom:${name}/api/findings/${finding}"`);
    await node.sendJson('PATCH', '/manage/settings', { public_url: 'https://archive.example' });
    expect(await named()).toContain(`"id":"https://archive.example/api/findings/${finding}"`);
    await node.sendJson('PATCH', '/manage/settings', { public_url: '' });
  });

  test('is not intact if what is in it was changed together with the manifests, also without its seal', async () => {
    const { root } = await downloadBag(await createCase(node, 'Forged', items()));
    const at = (path: string) => join(root, 'data', path);
    const evidence = `evidence/event-2.evidence.html`;
    const genuine = await readFile(at(evidence), 'utf8');
    const other = await (await node.fetch('/api/events/1/evidence')).text();
    const changes: [path: string, to: (text: string) => string][] = [
      [evidence, (text) => text.replace('two', 'ten').replace(/"made_at":"2/, '"made_at":"1')],
      [evidence, (text) => `<!-- ${text} -->`],
      [evidence, () => other],
      [evidence, () => 'nothing'],
      [`packs/${pack}.pack.zip`, () => 'nothing'],
      [`findings/${finding}.json`, (text) => text.replace('"text":"', '"text":"Not ')],
      [`findings/${finding}.entry.json`, (text) => text.replace('"at":"2', '"at":"1')],
      [`findings/${finding}.tlog-proof`, (text) => text.replace(/\n.{43}=\n\n/, `\n${'A'.repeat(43)}=\n\n`)],
      [`objects/${versions[0]}`, (text) => `${text} `],
    ];
    for (const [path, to] of changes) {
      const before = await readFile(at(path));
      await writeFile(at(path), to(before.toString('latin1')), 'latin1');
      expect(await readFile(at(path)), path).not.toEqual(before);
      await withoutSeal(root, async () => expect((await verify(root)).code, path).toBe(1));
      await writeFile(at(path), before);
    }
    expect(await readFile(at(evidence), 'utf8')).toBe(genuine);
    // Nothing but the seal covers the index. Without it, anyone could have written the bag.
    await writeFile(at('index.html'), 'Another story');
    await writeManifests(root);
    const sealed = await verify(root);
    expect([sealed.code, sealed.stdout]).toEqual([1, expect.stringContaining('The list of files or the')]);
    await withoutSeal(root, async () => {
      const { code, stdout } = await verify(root);
      expect([code, stdout]).toEqual([3, expect.stringMatching(/^unsigned .*There is no seal/m)]);
      expect(stdout).toContain(`pack ${pack}, `);
    });
  });

  test('has an index that runs no script, loads nothing, and shows hostile text as text', async () => {
    const hostile = await createCase(node, '</title><script>alert(1)</script>', items());
    const { root } = await downloadBag(hostile);
    const $ = load(await run('cat', ['data/index.html'], root));
    expect($('script, img, link, iframe, object')).toHaveLength(0);
    expect($('meta[http-equiv]').attr('content')).toContain("default-src 'none'");
    expect($('h1').text()).toBe('</title><script>alert(1)</script>');
    expect($('blockquote').first().text()).toBe('two');
    for (const link of $('a').toArray()) {
      const href = $(link).attr('href') ?? '';
      await run('test', ['-f', join('data', href)], root);
    }
  });

  test('keeps text that is written from right to left away from the text around it', async () => {
    const target = { kind: 'object' as const, id: versions[0] ?? '' };
    const { id } = await addFinding(node, target, { tags: ['\u202Eabc', 'plain'] });
    const { root } = await downloadBag(await createCase(node, 'Directions', [{ kind: 'finding', id }]));
    const $ = load(await run('cat', ['data/index.html'], root));
    const isolated = $('li bdi').toArray();
    expect(isolated.map((element) => $(element).text())).toEqual([target.id, '\u202Eabc', 'plain']);
  });

  test('leaves out what is missing: the object, and both files of a pack, and says so', async () => {
    await rm(blobPath(node.dataFolder, versions[1] ?? ''));
    await rm(blobPath(node.dataFolder, sha256Of('a\n1\n')));
    const { root } = await downloadBag(await createCase(node, 'Incomplete', items()));
    const $ = load(await run('cat', ['data/index.html'], root));
    const missing = $('h2:contains("Not in this bag") + ul').text();
    expect(missing).toContain(versions[1]);
    expect(missing).toContain(`Pack file and evidence file of ${pack}`);
    expect((await verify(root)).code).toBe(0);
  });
});

/** Writes the manifests of a bag anew, as anybody can. */
async function writeManifests(root: string): Promise<void> {
  await run('sh', ['-ec', 'find data -type f | sort | xargs sha256sum > manifest-sha256.txt'], root);
  const oxum = '$(cat $(find data -type f) | wc -c).$(find data -type f | wc -l)';
  await run('sh', ['-ec', `sed -i "s/^Payload-Oxum: .*/Payload-Oxum: ${oxum}/" bag-info.txt`], root);
  await run(
    'sh',
    ['-ec', 'sha256sum $(ls -p | grep -v / | grep -v ^tagmanifest) > tagmanifest-sha256.txt'],
    root,
  );
}

async function withoutSeal(root: string, check: () => Promise<void>): Promise<void> {
  const seal = await readFile(join(root, 'seal.txt'));
  await rm(join(root, 'seal.txt'));
  await writeManifests(root);
  await check();
  await writeFile(join(root, 'seal.txt'), seal);
  await writeManifests(root);
}
