import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../../renderer/inlineScripts.ts';
import { nodeCrypto } from '../../../server/ledger/checkpoint.ts';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import { HANDED_IN_WORDS } from '../../../shared/collection/observers.ts';
import type { Copy } from '../../../shared/node/copy.ts';
import { checkEvidence } from '../../../shared/proof/evidence/checkEvidence.ts';
import type { Evidence } from '../../../shared/proof/evidence/evidence.ts';
import { filesWith } from '../../copies/withheldCopies.ts';
import { altered, inRecord, parseLines, refusal, withTrailer } from '../../dump/dumpLines.ts';
import { expectVerified } from '../../peers/support.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { savedPage } from '../../support/savedPages.ts';
import { alter, problems } from '../record/alteredArchive.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { handIn, readHandIn } from './support.ts';

const ADDRESS = 'https://mail.example/inbox';
const DOCUMENT =
  '<html><head><link rel="stylesheet" href="cid:style"></head><body><p>Inbox</p></body></html>';
const PAGE = savedPage(ADDRESS, [
  { type: 'text/html', location: ADDRESS, content: DOCUMENT },
  { type: 'text/css', id: 'style', content: 'p { color: red }' },
]);
const SHOWN = '<html><p>For everyone</p></html>';

let own: string;
let node: CollectingNode;
let hidden: HandIn;
let shown: HandIn;

beforeAll(async () => {
  own = await temporaryFolder();
  const rendererFolder = join(own, 'renderer');
  await mkdir(join(rendererFolder, 'evidence'), { recursive: true });
  await writeFile(join(rendererFolder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(rendererFolder, EVIDENCE_STYLE), await readEvidenceStyle());
  node = await openCollectingNode({}, { dataFolder: join(own, 'data'), rendererFolder });
  hidden = await handIn(node.node, PAGE, 'multipart/related', { title: 'Mine', name: 'Ada' });
  shown = await handIn(node.node, Buffer.from(SHOWN), 'text/html', {
    url: 'https://shop.example/',
    name: 'Ada',
    withheld: 'false',
  });
}, 60_000);
afterAll(closeTestNodes);

async function textAt(path: string, asOwner = false): Promise<string> {
  const response = await (asOwner ? node.node.fetchAsOwner(path) : node.node.fetch(path));
  expect(response.status).toBe(200);
  return response.text();
}

test('a dump restores what was handed in, and is refused if it was changed or taken out', async () => {
  const dump = await textAt('/api/dump.jsonl');
  const file = join(own, 'dump.jsonl');
  await writeFile(file, dump);
  expect(await runHere(['verify', file])).toMatchObject({ code: 0, stderr: '' });
  const dataFolder = join(own, 'restored');
  expect(await runHere(['import', file, '--data', dataFolder])).toMatchObject({ code: 0, stderr: '' });
  const restored = await openTestNode({ dataFolder });
  for (const handed of [hidden, shown])
    expect(await readHandIn(restored, handed.id)).toEqual({ ...handed, comparison: null });
  await expectVerified(restored);
  // A restored archive covers the same digests.
  expect((await restored.fetch(`/archive/${sha256Of('p { color: red }')}`)).status).toBe(451);

  const lines = parseLines(dump);
  const retold = altered(lines, 'hand_in', 0, inRecord('title', 'Another'));
  expect((await refusal({ folder: own }, withTrailer(retold))).sentence).toContain('it was altered');
  const without = lines.filter(({ kind }) => kind !== 'hand_in');
  expect((await refusal({ folder: own }, withTrailer(without))).sentence).toContain('page.handed_in');
});

test('what was handed in and changed in the database is found', async () => {
  const dataFolder = join(own, 'tampered');
  const file = join(own, 'tampered.jsonl');
  await writeFile(file, await textAt('/api/dump.jsonl'));
  expect(await runHere(['import', file, '--data', dataFolder])).toMatchObject({ code: 0 });
  expect(await problems(dataFolder)).toEqual([]);
  alter(
    dataFolder,
    `DROP TRIGGER hand_ins_refuses_update; UPDATE hand_ins SET record = replace(record, '"Mine"', '"Hers"')`,
  );
  expect(await problems(dataFolder)).toEqual([
    expect.objectContaining({ problem: 'wrong_digest', subject: hidden.id }),
  ]);
});

async function copiedTo(place: string, pages: boolean): Promise<void> {
  const added = await node.node.sendJson('POST', '/manage/copies', {
    target: pathToFileURL(place).href,
    pages,
  });
  expect(added.status, await added.clone().text()).toBe(201);
  const { id } = (await added.json()) as Copy;
  const synced = await node.node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(synced.status, await synced.clone().text()).toBe(200);
}

test('a copy with pages says that nobody fetched it, and has nothing of what is withheld', async () => {
  const place = join(own, 'shownCopy');
  await copiedTo(place, true);
  const [event] = await node.events(`source=${shown.source}`);
  for (const path of [`events/${event?.id}.html`, `sources/${shown.source}.html`])
    expect(await readFile(join(place, path), 'utf8'), path).toContain(HANDED_IN_WORDS);
  expect(await filesWith(place, 'Inbox')).toEqual([]);
});

test('a copy without pages holds it, and restores it', async () => {
  const place = join(own, 'copy');
  await copiedTo(place, false);
  const dataFolder = join(own, 'fromCopy');
  expect(await runHere(['restore', place, '--data', dataFolder])).toMatchObject({ code: 0 });
  const restored = await openTestNode({ dataFolder });
  expect(await readHandIn(restored, hidden.id)).toEqual({ ...hidden, comparison: null });
  expect(await (await restored.fetchAsOwner(`/archive/${hidden.file.sha256}`)).text()).toBe(PAGE.toString());
  await expectVerified(restored);
});

test('a WARC file has it as resources that say that nobody fetched them', async () => {
  const warc = await textAt(`/api/warc?source=${hidden.source}`, true);
  const records = warc.split('WARC/1.1\r\n');
  const recordOf = (content: string | Buffer) =>
    records.find((each) => each.includes(`WARC-Payload-Digest: sha256:${sha256Of(content)}`));
  for (const [content, target] of [
    [DOCUMENT, ADDRESS],
    [PAGE, `urn:file:${ADDRESS}`],
    ['p { color: red }', 'cid:style'],
  ] as const) {
    expect(recordOf(content)).toMatch(/^WARC-Type: resource\r\n/);
    expect(recordOf(content)).toContain(`WARC-Target-URI: ${target}\r\n`);
  }
  expect(warc.match(new RegExp(`handed-in: ${HANDED_IN_WORDS} \\(Ada\\)\r\n`, 'g'))).toHaveLength(3);
  expect(await textAt(`/api/warc?source=${hidden.source}`)).not.toContain('Inbox');
});

test('an evidence file says who saw it, and claims nothing more', async () => {
  const [event] = await node.events(`source=${shown.source}`);
  const html = await textAt(`/api/events/${event?.id}/evidence`);
  const evidence = JSON.parse(/id="evidence">([^<]*)</.exec(html)?.[1] ?? '') as Evidence;
  const claims = checkEvidence(evidence, nodeCrypto);
  expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
  expect(claims).toContainEqual(
    expect.objectContaining({ state: 'claimed', detail: expect.stringContaining(HANDED_IN_WORDS) }),
  );
  expect(claims.map(({ name }) => name)).not.toContain('The address answered with these bytes.');
});

test('a feed says that nobody fetched it', async () => {
  expect(await textAt('/api/events.atom')).toContain(HANDED_IN_WORDS);
});
