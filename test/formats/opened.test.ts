import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { type Call, isSigned } from '../alerts/webhookReceiver.ts';
import { sendFile } from '../collection/captures/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { parseLines } from '../dump/dumpLines.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { example, VERSIONS, versionsWithExamples } from './versions.ts';

afterEach(closeTestNodes);

/** Files that say all by themselves, or with the file beside them that has the rest. */
const VERIFIED = [
  'pack.pack.zip',
  'set.pack.zip',
  'pack.evidence.html',
  'event.evidence.html',
  'page.evidence.html',
  'finding.evidence.html',
  'case.zip',
  'archive.zip',
  'archive.wacz',
  'dump.jsonl',
  'log.checkpoint',
  'entry.tlog-proof',
  'ledger.tsr',
];
const COPIES = ['copy.zip', 'copy-with-pages.zip'];

const INTACT = { database: { ok: true }, damaged: [], foreign: [], lost_and_found: [] };

/** What the examples of a version were made of. */
async function linesOf(version: string): Promise<object[]> {
  return parseLines(await readFile(example(version, 'dump.jsonl'), 'utf8')).slice(1, -1);
}

/** Requires that a data folder opens with everything that the archive of the examples had, and every byte intact. */
async function expectEverything(
  version: string,
  dataFolder: string,
  { withBytes = true, withWithheld = true } = {},
): Promise<void> {
  const node = await openTestNode({ dataFolder });
  const dump = await (await node.fetchAsOwner('/api/dump.jsonl')).text();
  const lines = parseLines(dump).slice(1, -1) as { kind: string }[];
  const expected = (await linesOf(version)) as { kind: string }[];
  // What visitors may not read is not in a copy that they may read, and the archive made of it says so.
  const isSame = ({ kind }: { kind: string }) => withWithheld || kind !== 'object_absent';
  expect(lines.filter(isSame)).toEqual(expected.filter(isSame));
  if (!withWithheld) expect(lines.length).toBeGreaterThan(expected.length);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
  if (!withBytes) return;
  const audit = await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
  expect(await audit.json()).toMatchObject(INTACT);
}

async function extracted(file: string): Promise<string> {
  const folder = join(await temporaryFolder(), 'extracted');
  await extract(file, folder);
  return folder;
}

describe.each(await versionsWithExamples())('what version %s wrote', (version) => {
  test('a data folder opens, with every record and byte', async () => {
    await expectEverything(version, await extracted(example(version, 'data-folder.zip')));
  });

  test.each(['dump.jsonl', 'archive.zip'])('%s becomes an archive with the same records', async (file) => {
    const data = join(await temporaryFolder(), 'data');
    const read = await runHere(['import', example(version, file), '--data', data]);
    expect(read).toMatchObject({ code: 0, stderr: '' });
    await expectEverything(version, data, { withBytes: file === 'archive.zip' });
  });

  test.each(COPIES)('%s verifies, and becomes an archive again', async (file) => {
    const copy = await extracted(example(version, file));
    const identity = join(await extracted(example(version, 'data-folder.zip')), 'withheld.key');
    expect(await runHere(['verify', copy])).toMatchObject({ code: 0 });
    const data = join(await temporaryFolder(), 'data');
    const read = await runHere(['restore', copy, '--data', data, '--identity', identity]);
    expect(read).toMatchObject({ code: 0 });
    await expectEverything(version, data, { withWithheld: file === 'copy.zip' });
  });

  test.each(VERIFIED)('%s is intact, by the key of its node', async (file) => {
    const key = (await readFile(example(version, 'key.txt'), 'utf8')).trim();
    // A package has a key of its own, because WACZ signatures are of another kind. A pack file has no signature.
    const by = /\.(?:wacz|pack\.zip)$/.test(file) ? [] : ['--key', key];
    const { code, stdout } = await runHere(['verify', ...by, example(version, file)]);
    expect(stdout).not.toMatch(/changed|unsigned|unknown/);
    expect(code).toBe(0);
  });

  test('a pack file becomes the same pack in another archive', async () => {
    const node = await openTestNode();
    await node.close();
    const data = ['--data', node.dataFolder, '--json'];
    const read = await runHere(['import', example(version, 'pack.pack.zip'), ...data]);
    expect(read).toMatchObject({ code: 0 });
    const lines = (await linesOf(version)) as { kind: string; id?: string; record?: { title?: string } }[];
    const pack = lines.find(({ kind, record }) => kind === 'pack' && record?.title === 'Two files');
    expect(read.stdout).toContain(pack?.id);
  });

  test.each([
    ['archive.warc.gz', 'application/warc+gzip'],
    ['archive.wacz', 'application/wacz'],
  ])('the captures of %s are imported, with their bytes', async (file, type) => {
    const node = await openCollectingNode();
    const answer = await sendFile(node, await readFile(example(version, file)), { type });
    expect(answer.status, await answer.clone().text()).toBe(200);
    const warc = gunzipSync(await readFile(example(version, 'archive.warc.gz'))).toString('latin1');
    // Of addresses: what a page showed is imported with no page.
    const captured = /^WARC-Target-URI: http[^]*?^WARC-Payload-Digest: sha256:([0-9a-f]{64})/m;
    const payloads = new Set(
      warc.split('WARC/1.1\r\n').flatMap((record) => captured.exec(record)?.[1] ?? []),
    );
    // Of a redirect.
    payloads.delete(sha256Of(''));
    expect(payloads.size).toBeGreaterThan(5);
    for (const sha256 of payloads) {
      const object = await node.node.fetchAsOwner(`/archive/${sha256}`, { method: 'HEAD' });
      expect(object.status, sha256).toBe(200);
    }
  });

  test('a call of a webhook is signed, and says what happened', async () => {
    const call = JSON.parse(await readFile(example(version, 'webhook.json'), 'utf8')) as Call;
    expect(isSigned(call)).toBe(true);
    expect(JSON.parse(call.body)).toMatchObject({ type: 'alert.event', data: { title: 'Fees has changed' } });
  });
});

test('a data folder of the first schema of 1.0 opens, and every byte is intact', async () => {
  const dataFolder = await extracted(join(VERSIONS, 'data-folder-of-schema-100.zip'));
  const node = await openTestNode({ dataFolder });
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
  const audit = await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
  expect(await audit.json()).toMatchObject(INTACT);
});
