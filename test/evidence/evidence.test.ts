import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { browserCrypto } from '../../renderer/evidence/browserCrypto.ts';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import { checkEvidence } from '../../shared/proof/evidence/checkEvidence.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { checkSet } from '../../shared/proof/evidence/evidenceFiles.ts';
import { type EvidenceParts } from '../../shared/proof/evidence/evidencePage.ts';
import { withEvidence } from '../e2e/support/evidenceChanges.ts';
import { addFinding } from '../findings/support.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet, setFiles, uploadManifest } from '../support/archive/sets.ts';
import { MAX_BLOCKED_MS, maxBlockedCpu } from '../support/blockedCpu.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import {
  closeTimestampAuthorities,
  EC_KEY,
  TimestampAuthority,
} from '../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { pdfOf } from '../support/pdf.ts';
import { requirePrograms } from '../support/requirements.ts';
import { runHere } from '../support/runHere.ts';
import {
  addPack,
  buildEvidenceParts,
  evidenceIn,
  evidenceOf,
  expectNoForgeryIntact,
  writeEvidenceParts,
} from './support.ts';

afterEach(closeTestNodes);
afterEach(closeScriptedWebs);
afterEach(closeTimestampAuthorities);

let parts: EvidenceParts;
beforeAll(async () => {
  parts = await buildEvidenceParts();
});

let rendererFolder: string;
async function openNodeWithEvidence(options: { packBytes?: number } = {}): Promise<TestNode> {
  rendererFolder = await writeEvidenceParts(parts);
  return openTestNode({ ...options, rendererFolder });
}

/** Runs `strongroom verify` as the program that the node is of. */
function verify(...words: string[]) {
  return runHere(['verify', ...words], undefined, { rendererFolder });
}

test('carries bytes up to 10 MB in all, the rest by digest, and nothing of the record ends its element', async () => {
  const node = await openNodeWithEvidence();
  const large = new Uint8Array(9_999_000).fill(7);
  const id = await addPack(node, { 'a.bin': large, 'b.txt': 'x'.repeat(2_000), 'c.txt': 'small' });
  const small = await addPack(node, { 'c.txt': 'small' });
  const ofSmall = await (await node.fetch(`/api/packs/${small}/evidence`)).text();
  // All is asked for before much is computed: connections that wait meanwhile are closed.
  const response = await node.fetch(`/api/packs/${id}/evidence`);
  expect(response.headers.get('Content-Disposition')).toBe(`attachment; filename="${id}.evidence.html"`);
  const html = await response.text();
  const read = async () => (await fetch(new URL(`/api/packs/${id}/evidence`, node.url))).arrayBuffer();
  // Sealed and written in one go, it took 320 ms. The best of three is what the code needs; the others wait for the machine.
  const blocked = [await maxBlockedCpu(read), await maxBlockedCpu(read), await maxBlockedCpu(read)];
  expect(Math.min(...blocked)).toBeLessThan(MAX_BLOCKED_MS / 2);
  expect(html.match(/<script/g)).toHaveLength(2);
  const evidence = evidenceIn(html);
  expect(evidence.files.map(({ name, content }) => [name, content === null])).toEqual([
    ['a.bin', false],
    ['b.txt', true],
    ['c.txt', false],
  ]);
  for (const crypto of [nodeCrypto, browserCrypto]) {
    const claims = checkEvidence(evidence, crypto);
    expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
    expect(claims.filter(({ name }) => name.startsWith('The file “b.txt”'))).toMatchObject([
      { state: 'claimed' },
    ]);
  }

  const file = join(await temporaryFolder(), `${id}.evidence.html`);
  await writeFile(file, html);
  expect(await verify(file)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('claims hold') as string,
  });
  await writeFile(
    file,
    ofSmall.replace(
      /("c\.txt","sha256":")./,
      '$1g'.replace('g', ofSmall.includes('"c.txt","sha256":"0') ? '1' : '0'),
    ),
  );
  expect(await verify(file)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The bytes or the digest of “c.txt” were altered.') as string,
  });
});

/** Changes `set.json`, and then what has its digest as far as somebody can without the key of the node. */
function withList(
  evidence: Evidence,
  change: (list: string) => string,
  also: 'nothing' | 'record' | 'entry' = 'entry',
): Evidence {
  const altered = { ...structuredClone(evidence), seal: null };
  const [file] = altered.files;
  if (!file?.content) throw new Error('set.json is not there.');
  const list = change(Buffer.from(file.content, 'base64').toString());
  file.content = Buffer.from(list).toString('base64');
  if (also === 'nothing') return altered;
  const { recorded } = altered;
  recorded.record = recorded.record.replace(file.sha256, sha256Of(list));
  file.sha256 = sha256Of(list);
  file.bytes = Buffer.byteLength(list);
  if (also === 'entry') recorded.entry.digest = sha256Of(recorded.record);
  return altered;
}

const SET_CLAIM = 'The ledger entry 5 covers every file of the set.';

test('the evidence of a set covers its files, and fails where its list was altered', async () => {
  const node = await openNodeWithEvidence({ packBytes: 10_000 });
  const { manifest } = await publishedSet(node);
  const evidence = await evidenceOf(node, manifest.id);
  const files = Object.entries(setFiles()).map(([path, content]) => ({
    path,
    bytes: content.length,
    sha256: sha256Of(content),
  }));
  for (const crypto of [nodeCrypto, browserCrypto]) {
    expect(checkSet(evidence, crypto).set).toEqual({ files, bytes: 34_000 });
    const claims = checkEvidence(evidence, crypto);
    expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
    const detail = expect.stringContaining('set.json lists 4 files (34,000 bytes)') as string;
    expect(claims).toContainEqual({ id: 'set', state: 'holds', name: SET_CLAIM, detail });
  }

  const digest = files[2]?.sha256 ?? '';
  const other = (list: string) => list.replace(digest, sha256Of('other'));
  const cases: [wrong: string, altered: Evidence][] = [
    ['set.json was altered.', withList(evidence, (list) => list.replace('b.csv', 'c.csv'), 'nothing')],
    ['set.json was altered.', withList(evidence, other, 'nothing')],
    ['The record was altered.', withList(evidence, other, 'record')],
    ['lists no files', withList(evidence, () => '{"format":"strongroom-set@1","files":[]}')],
    ['file 3', withList(evidence, (list) => list.replace('"b.csv"', '"../b.csv"'))],
    ['file 3', withList(evidence, (list) => list.replace('"bytes":5000', '"bytes":"5000"'))],
    ['The parts have', withList(evidence, (list) => list.replace('"bytes":5000', '"bytes":5001'))],
    ['The digest of the only part', withList(evidence, other)],
    ['Another file has this path', withList(evidence, (list) => list.replace('"b.csv"', '"LARGE.bin"'))],
    ['twice, or unknown', withList(evidence, (list) => list.replace('"files":', '"files":[],"files":'))],
    ['twice, or unknown', withList(evidence, (list) => list.replace('"path":"b', '"x":1,"path":"b'))],
  ];
  for (const [wrong, altered] of cases) {
    const { claims, set } = checkSet(altered, nodeCrypto);
    const detail = expect.stringContaining(wrong) as string;
    expect(claims, wrong).toEqual([{ id: 'set', state: 'fails', name: SET_CLAIM, detail }]);
    expect(set, wrong).toBeUndefined();
  }

  const file = join(await temporaryFolder(), `${manifest.id}.evidence.html`);
  const html = await (await node.fetch(`/api/packs/${manifest.id}/evidence`)).text();
  const verifyWith = async (data: Evidence) => {
    await writeFile(file, withEvidence(html, data));
    return verify(file);
  };
  const words = 'they cover the 4 files (34,000 bytes) of the set\n';
  const intact = await verifyWith(evidence);
  expect([intact.code, intact.stdout]).toEqual([0, expect.stringContaining(words)]);
  const failed = await verifyWith(withList(evidence, other, 'nothing'));
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining(`${SET_CLAIM} set.json was`)]);
});

test('what only may be the manifest of a set has no files of a set', async () => {
  const node = await openNodeWithEvidence({ packBytes: 10_000 });
  const { manifest } = await publishedSet(node);
  const unread = await evidenceOf(node, manifest.id);
  for (const each of unread.files) each.content = null;
  const detail = expect.stringContaining('is not in this file. Get it from the archive') as string;
  const name = 'The ledger entry 5 covers every file that set.json lists.';
  expect(checkSet(unread, nodeCrypto)).toEqual({
    claims: [{ id: 'stated', state: 'claimed', name, detail }],
  });
  const ordinary = (await (await uploadManifest(node, { format: 'other' })).json()) as { id: string };
  expect(checkSet(await evidenceOf(node, ordinary.id), nodeCrypto)).toEqual({ claims: [] });
  const { id } = await uploadNewPack(node, undefined, { 'set.json': '{}', 'a.txt': 'a' });
  expect(checkSet(await evidenceOf(node, id), nodeCrypto)).toEqual({ claims: [] });
});

test('says of an event how it was fetched, and that only the node claims it', async () => {
  const node = await openNodeWithEvidence();
  const web = await ScriptedWeb.open();
  web.script('/page', page('level 1'));
  await node.sendJson('POST', '/manage/sources', { url: web.url('/page'), ignore_robots: true });
  await node.sendJson('POST', '/manage/collections?wait=true', {});
  const evidence = evidenceIn(await (await node.fetch('/api/events/1/evidence')).text());
  expect(JSON.parse(evidence.retrieval?.retrieval ?? '')).toMatchObject({
    connection: { address: '127.0.0.1', port: web.port, http: '1.1', tls: null },
  });
  const claims = checkEvidence(evidence, nodeCrypto);
  expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
  expect(claims).toContainEqual({
    id: 'stated',
    state: 'claimed',
    name: 'The server had this network address.',
    detail: 'Only the observer states this. The server signed nothing that could prove it.',
  });
});

/** Pages, each with words that a finding quotes from it. */
/** What a reader sees as it is in the bytes. Of an image or of XML, it is not known what is shown. */
const QUOTED: [type: string, body: string, exact: string, state?: 'claimed'][] = [
  [
    'text/html; charset=utf-8',
    '<title>T</title><p>The <b>fee</b> is&nbsp;20&euro; for a<br>day.',
    'fee is 20€ for a\nday',
  ],
  ['text/html', '<ul><li>First <script>x</script>rule</li><li>Second</li></ul>', 'First rule\n- Second'],
  [
    'text/html',
    '<meta charset=windows-1252><p>Die Geb\u00fchr <img alt="betr\u00e4gt"> 20',
    'Gebühr beträgt 20',
    'claimed',
  ],
  ['text/csv', 'name;fee\n"Ada";"20 euros"\n', 'Ada\t20 euros'],
  ['application/json', '{"fee":{"amount":20}}', '"amount": 20'],
  ['application/xml', '<a><b>One &amp; two</b><![CDATA[three]]></a>', 'One & two', 'claimed'],
];

test('the words of a passage are found again in bytes of HTML, CSV, JSON and XML', async () => {
  const node = await openNodeWithEvidence();
  const web = await ScriptedWeb.open();
  for (const [index, [type, body]] of QUOTED.entries()) {
    const answer = page(Buffer.from(body, 'latin1'), { headers: { 'Content-Type': type } });
    web.script(`/page-${index}`, answer);
    const source = { url: web.url(`/page-${index}`), ignore_robots: true };
    await node.sendJson('POST', '/manage/sources', source);
  }
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0 });
  await node.sendJson('POST', '/manage/collections?wait=true', {});
  const { items } = (await (await node.fetch('/api/events')).json()) as {
    items: { id: number; sha256: string; source: { url: string } }[];
  };
  for (const [index, [, body, exact, state = 'holds']] of QUOTED.entries()) {
    const event = items.find(({ source }) => source.url === web.url(`/page-${index}`));
    await expectFoundAgain(node, { id: String(event?.id), sha256: event?.sha256 ?? '', exact, body, state });
  }
});

/** Requires that evidence proves the words of a finding about an event, and refuses others. */
async function expectFoundAgain(
  node: TestNode,
  {
    id,
    sha256,
    exact,
    body,
    state,
  }: { id: string; sha256: string; exact: string; body: string; state: string },
): Promise<void> {
  const finding = await addFinding(node, { kind: 'event', id }, { passage: { sha256, exact } });
  expect(finding.passage?.derived, JSON.stringify(finding)).toBeDefined();
  const html = await (await node.fetch(`/api/findings/${finding.id}/evidence`)).text();
  const evidence = evidenceIn(html);
  const file = join(await temporaryFolder(), `${finding.id}.evidence.html`);
  await writeFile(file, html);
  const { stdout } = await verify(file);
  expect(stdout.includes('that the quoted words are in the bytes is only claimed'), body).toBe(
    state === 'claimed',
  );
  const verdictOf = (changed: Evidence) =>
    checkEvidence(changed, nodeCrypto).find(({ name }) => name === 'The quoted words are in the bytes.');
  expect(verdictOf(evidence), body).toMatchObject({ state });
  expect(
    checkEvidence(evidence, browserCrypto).filter(({ state }) => state === 'fails'),
    body,
  ).toEqual([]);
  const other = structuredClone(evidence);
  const quoted = other.finding as NonNullable<Evidence['finding']>;
  const record = JSON.parse(quoted.record) as { passage: { exact: string } };
  record.passage.exact = exact.replace(/20|First|One/, '25');
  quoted.record = JSON.stringify(record);
  expect(verdictOf(other), body).toMatchObject({
    state: 'fails',
    detail: 'The words are not in the bytes.',
  });
  expect(checkEvidence(other, nodeCrypto)).toContainEqual(
    expect.objectContaining({ state: 'fails', detail: 'The finding or its quotation was altered.' }),
  );
}

test('the evidence of a revealed finding proves when it was sealed, and there is none before', async ({
  skip,
}) => {
  await requirePrograms(['openssl'], skip);
  const node = await openNodeWithEvidence();
  const { id: pack, files } = await uploadNewPack(node, undefined, { 'a.txt': 'The fee is 20 euros.' });
  const passage = { sha256: files[0]?.sha256, exact: 'fee is 20' };
  const target = { kind: 'pack' as const, id: pack };
  const [authority, witness] = [await TimestampAuthority.open(EC_KEY), await openTestNode()];
  const key = await (await node.fetch('/api/ledger/key')).text();
  await witness.sendJson('POST', '/manage/witness/logs', { key: key.trim() });
  const cosigner = await (await witness.fetch('/witness/key')).text();
  const witnesses = [{ url: new URL('/witness', witness.url).href, key: cosigner.trim() }];
  const settings = { timestamp_authorities: [authority.url], witnesses };
  await node.sendJson('PATCH', '/manage/settings', settings);
  const bindToTime = async () => {
    for (const path of ['/manage/witnesses/submit', '/manage/timestamps'])
      expect((await node.sendJson('POST', path, {})).status).toBeLessThan(300);
  };
  // The pack has a time of its own, so nothing of what it has counts for the seal.
  await bindToTime();
  const { id } = await addFinding(node, target, { passage, sealed: true });
  const path = `/api/findings/${id}/evidence`;
  expect(await problemOf(node.fetch(path))).toMatchObject({ status: 409, code: 'finding_sealed' });
  await bindToTime();
  await node.sendJson('POST', `/manage/findings/${id}/reveal`, {});
  // A later cosignature does not replace that of the time of the seal.
  await bindToTime();
  const evidence = evidenceIn(await (await node.fetch(path)).text());
  expect(evidence.witnesses).toHaveLength(1);
  expect(evidence.timestamps).toHaveLength(1);
  const ofPack = await evidenceOf(node, pack);
  expectNoForgeryIntact(evidence, [ofPack]);
  const sealing = (changed: Evidence) =>
    checkEvidence(changed, nodeCrypto).find(({ name }) => name.endsWith('sealed this finding.'));
  expect(sealing(evidence)).toMatchObject({ state: 'holds', name: expect.stringContaining('entry 2 of') });
  expect(checkEvidence(evidence, browserCrypto).filter(({ state }) => state === 'fails')).toEqual([]);
  const ofSeal = [
    ['holds', 'The entry 2 is in that ledger of 2 entries.'],
    ['holds', `The timestamp of “${authority.url}” covers a checkpoint with this seal.`],
    ['claimed', 'The seal existed before '],
    ['claimed', 'The time of the seal is right.'],
  ] as const;
  for (const [state, claim] of ofSeal)
    expect(checkEvidence(evidence, nodeCrypto), claim).toContainEqual(
      expect.objectContaining({ state, name: expect.stringContaining(claim) as string }),
    );
  const name = cosigner.split('+', 1)[0] ?? '';
  const oldest = evidence.sealed?.proofs.find(({ checkpoint }) => checkpoint.split('\n')[1] === '2');
  expect(oldest?.checkpoint).toContain(`\n— ${name} `);
  const changes: ((sealed: NonNullable<Evidence['sealed']>) => void)[] = [
    ({ timestamps = [] }) => timestamps.forEach((each) => void (each.text = `${each.text}0`)),
    ({ witnesses: keys = [] }) => void keys.pop(),
    ({ proofs }) => void proofs.at(-1)?.hashes.pop(),
  ];
  for (const change of changes) {
    const altered = structuredClone(evidence);
    if (altered.sealed) change(altered.sealed);
    const failed = checkEvidence({ ...altered, seal: null }, nodeCrypto).filter(
      ({ state }) => state === 'fails',
    );
    expect(failed, String(change)).not.toEqual([]);
  }
  // Files that were made before have neither witnesses nor timestamps for the seal.
  const before = structuredClone({ ...evidence, seal: null });
  delete before.sealed?.witnesses;
  delete before.sealed?.timestamps;
  before.sealed?.proofs.splice(1);
  const ofBefore = checkEvidence(before, nodeCrypto);
  expect(ofBefore.filter(({ state }) => state === 'fails')).toEqual([]);
  const byItsClock = { id: 'stated', state: 'claimed', detail: 'It is from the node’s clock.' };
  expect(ofBefore).toContainEqual({ ...byItsClock, name: 'The time of the seal is right.' });
  const other = structuredClone(evidence);
  if (other.sealed) other.sealed.salt = '0'.repeat(64);
  expect(sealing(other)).toMatchObject({ state: 'fails' });
  delete other.sealed;
  expect(checkEvidence(other, nodeCrypto).filter(({ state }) => state === 'fails')).not.toEqual([]);
});

test('the words of a PDF are only claimed, and a finding without words in an object has no evidence', async () => {
  const node = await openNodeWithEvidence();
  const pdf = new Uint8Array(pdfOf(['The fee is 20 euros']));
  const id = await addPack(node, { 'fees.pdf': pdf });
  const sha256 = sha256Of(pdf);
  const target = { kind: 'pack' as const, id };
  const { id: finding } = await addFinding(node, target, { passage: { sha256, exact: 'fee is 20' } });
  const evidence = evidenceIn(await (await node.fetch(`/api/findings/${finding}/evidence`)).text());
  const claims = checkEvidence(evidence, nodeCrypto);
  expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
  expect(claims).toContainEqual(
    expect.objectContaining({
      state: 'claimed',
      name: 'The quoted words are in the bytes.',
      detail: expect.stringContaining('on page 1') as string,
    }),
  );
  for (const passage of [null, { exact: 'fee' }, { sha256, exact: 'not there' }]) {
    const added = await addFinding(node, target, { passage });
    expect(await problemOf(node.fetch(`/api/findings/${added.id}/evidence`))).toMatchObject({
      status: 404,
      code: 'no_passage',
    });
  }
  const withheld = await node.sendJson('POST', '/manage/withheld', { sha256, reason: 'personal_data' });
  expect(withheld.status).toBe(201);
  expect(await problemOf(node.fetch(`/api/findings/${finding}/evidence`))).toMatchObject({ status: 451 });
});

test('what does not exist has no evidence, and without the built interface there is none', async () => {
  const node = await openNodeWithEvidence();
  for (const path of ['/api/events/1/evidence', '/api/events/x/evidence', '/api/packs/pk_0/evidence'])
    expect(await problemOf(node.fetch(path)), path).toMatchObject({ status: 404, code: 'not_found' });
  const bare = await openTestNode({ rendererFolder: await temporaryFolder() });
  const id = await addPack(bare, { 'a.txt': 'a' });
  expect(await problemOf(bare.fetch(`/api/packs/${id}/evidence`))).toMatchObject({
    code: 'interface_missing',
  });
});

test('evidence with a part of another file, of this node or of another, is never intact', async () => {
  const node = await openNodeWithEvidence();
  const web = await ScriptedWeb.open();
  web.script('/page', page('one'), page('two'));
  await node.sendJson('POST', '/manage/sources', { url: web.url('/page'), ignore_robots: true });
  for (const _ of [1, 2]) await node.sendJson('POST', '/manage/collections?wait=true', {});
  const ofEvent = async (id: number) =>
    evidenceIn(await (await node.fetch(`/api/events/${id}/evidence`)).text());
  const [first, second] = [await ofEvent(1), await ofEvent(2)];
  const packs = [await addPack(node, { 'a.txt': 'a' }), await addPack(node, { 'a.txt': 'b' })];
  const [pack, next] = [await evidenceOf(node, packs[0] ?? ''), await evidenceOf(node, packs[1] ?? '')];
  const other = await openNodeWithEvidence();
  const elsewhere = await evidenceOf(other, await addPack(other, { 'a.txt': 'a' }));
  expectNoForgeryIntact(second, [first, pack, elsewhere]);
  expectNoForgeryIntact(pack, [next, second, elsewhere]);
});
