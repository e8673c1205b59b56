import { execFile } from 'node:child_process';
import { appendFile, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect, promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import type { NodeConfig } from '../../server/config.ts';
import { rebuildArchive } from '../../server/dump/rebuildArchive.ts';
import { commitmentTo } from '../../server/findings/sealed.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import { runLedgerVerification } from '../../server/verification/ledger/ledgerVerification.ts';
import { ADD_EARLIER_KEY, type FindingDetails, type SealedFinding } from '../../shared/findings/finding.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { addCopy, filesWith, sync, verified } from '../copies/withheldCopies.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { codeBlocksOf } from '../support/docs.ts';
import { extract } from '../support/extract.ts';
import {
  closeTimestampAuthorities,
  EC_KEY,
  TimestampAuthority,
} from '../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';
import { runHere } from '../support/runHere.ts';
import { builtInterface } from '../withholding/support.ts';
import { addFinding, createCase, findings, verifiedLedger } from './support.ts';

afterEach(closeTestNodes);
afterEach(closeTimestampAuthorities);

/** The words of a sealed finding, none of which may be public. */
const WORDS = { text: 'quibblesome', tag: 'zanzibarish', quote: 'blatherskite' };
const anyWord = new RegExp(Object.values(WORDS).join('|'));

async function seal(node: TestNode, pack: string): Promise<SealedFinding> {
  const passage = { sha256: null, exact: `A ${WORDS.quote}` };
  const fields = { text: `All ${WORDS.text} é`, tags: [WORDS.tag], passage, sealed: true };
  return (await addFinding(node, { kind: 'pack', id: pack }, fields)) as unknown as SealedFinding;
}

const reveal = (node: TestNode, id: string) =>
  node.fetchAsOwner(`/manage/findings/${id}/reveal`, { method: 'POST' });
const read = async <Answer>(answer: Promise<Response>) => (await (await answer).json()) as Answer;
const textOf = async (node: TestNode, path: string) => (await node.fetch(path)).text();

/** A node with a sealed finding about a pack. Its folder is known, and what it logs is kept. */
async function sealedArchive(config: Partial<NodeConfig> = {}) {
  const logged: string[] = [];
  const keep = (...line: unknown[]) => void logged.push(inspect(line, { depth: 9 }));
  const node = await openTestNode({
    dataFolder: join(await temporaryFolder(), 'data'),
    log: { info: keep, warn: keep, error: keep },
    ...config,
  });
  const { id: pack } = await uploadNewPack(node, undefined, { 'a.csv': 'a\n1\n' });
  return { node, pack, sealed: await seal(node, pack), logged };
}

test('a sealed finding is public as a commitment only, until it is revealed and everyone can check it', async ({
  skip,
}) => {
  await requirePrograms(['openssl'], skip);
  const { node, pack, sealed } = await sealedArchive({ rendererFolder: await builtInterface() });
  const authority = await TimestampAuthority.open(EC_KEY);
  await node.sendJson('PATCH', '/manage/settings', { timestamp_authorities: [authority.url] });
  expect((await node.sendJson('POST', '/manage/timestamps', {})).status).toBe(201);
  const { id, ledger_entry, sealed: commitment } = sealed;
  expect(sealed).toMatchObject({
    target: { kind: 'pack', id: pack },
    text: `All ${WORDS.text} é`,
    tags: [WORDS.tag],
    passage: { exact: `A ${WORDS.quote}` },
    sealed: { salt: null, record: null },
  });
  const entries = await read<{ items: LedgerEntry[] }>(
    node.fetch(`/api/ledger?from=${ledger_entry}&limit=1`),
  );
  expect(entries.items).toMatchObject([
    { type: 'finding.sealed', subject: id, digest: commitment.commitment, at: commitment.at },
  ]);
  const visible = { id, ledger_entry, sealed: commitment };
  expect(await read(node.fetch(`/api/findings/${id}`))).toEqual(visible);
  expect(await read(node.fetchAsOwner(`/api/findings/${id}`))).toEqual(sealed);
  expect(await read(node.fetch('/api/findings/sealed'))).toMatchObject({ items: [visible], total: 1 });
  expect(await read(node.fetch(`/api/findings/sealed?pack=${pack}`))).toMatchObject({ total: 0 });
  expect(await read(node.fetchAsOwner(`/api/findings/sealed?pack=${pack}`))).toMatchObject({
    items: [sealed],
  });
  expect(await read(node.fetchAsOwner('/api/findings/sealed?event=1'))).toMatchObject({ total: 0 });
  for (const word of Object.values(WORDS))
    expect(await findings(node, `q=${word}&state=all`)).toMatchObject({ total: 0 });

  const target = { kind: 'pack', id: pack };
  const next = { target, text: 'Next', supersedes: id };
  expect(await problemOf(node.sendJson('POST', '/manage/findings', next))).toMatchObject({
    code: 'finding_sealed',
  });
  const withdrawing = node.sendJson('POST', `/manage/findings/${id}/withdraw`, { reason: 'x' });
  expect(await problemOf(withdrawing)).toMatchObject({ status: 409, code: 'finding_sealed' });
  const both = node.sendJson('POST', '/manage/findings', { ...next, sealed: true });
  expect(await problemOf(both)).toMatchObject({ code: 'invalid_field', errors: [{ path: '/sealed' }] });
  const visitor = node.fetch(`/manage/findings/${id}/reveal`, { method: 'POST' });
  expect(await problemOf(visitor)).toMatchObject({ status: 401 });
  expect(await verifiedLedger(node)).toMatchObject({ ok: true, sealed: 0 });

  const revealed = await read<FindingDetails>(reveal(node, id));
  const { salt, record } = revealed.sealed ?? {};
  expect(record).toEqual({
    id,
    at: revealed.at,
    target,
    text: sealed.text,
    tags: sealed.tags,
    passage: sealed.passage,
    supersedes: null,
    withdrawal: null,
  });
  expect(await read(node.fetch(`/api/findings/${id}`))).toMatchObject({
    ...record,
    sealed: { salt, record },
  });
  expect(await findings(node, `q=${WORDS.text}&pack=${pack}`)).toMatchObject({ items: [{ id }], total: 1 });
  expect(await read(node.fetch('/api/findings/sealed'))).toMatchObject({ total: 0 });
  const commands = (await codeBlocksOf('findings.md', 'sh')).get('sealed') ?? 'exit 9';
  const env = { PATH: process.env.PATH, NODE: node.url, FINDING: id };
  const options = { cwd: await temporaryFolder(), env };
  const { stdout } = await promisify(execFile)('bash', ['-ec', commands], options);
  expect(stdout).toBe(`${commitment.commitment}  -\n"${commitment.commitment}"\n`);
  expect(await problemOf(reveal(node, id))).toMatchObject({ status: 409, code: 'finding_not_sealed' });
  expect(await problemOf(reveal(node, `fi_${'0'.repeat(20)}`))).toMatchObject({ status: 404 });
  const { id: filed } = await createCase(node, 'Predictions', [{ kind: 'finding', id }]);
  const bag = join(await temporaryFolder(), 'case.zip');
  await writeFile(bag, Buffer.from(await (await node.fetch(`/api/cases/${filed}/bag`)).arrayBuffer()));
  const folder = await temporaryFolder();
  await extract(bag, folder);
  const file = (ending: string) =>
    readFile(join(folder, `strongroom-case-${filed}`, 'data', 'findings', `${id}.${ending}`), 'utf8');
  expect(commitmentTo(await file('salt'), await file('json'))).toBe(
    (JSON.parse(await file('sealed.json')) as LedgerEntry).digest,
  );
  expect(await file('sealed.tlog-proof')).toMatch(/^c2sp\.org\/tlog-proof/);
  // The checkpoint that was stamped is the one in the proof, and is of the time before it was revealed.
  const stamped = await file('sealed.1.txt');
  expect(stamped.split('\n')[1]).toBe(String(ledger_entry));
  expect(await file('sealed.1.tlog-proof')).toContain(`\n\n${stamped}\n— `);
  const timestamp = join(folder, `strongroom-case-${filed}`, 'data', 'findings', `${id}.sealed.1.tsr`);
  expect(await runHere(['verify', timestamp])).toMatchObject({ code: 0 });
  await addFinding(node, { kind: 'pack', id: pack }, { text: 'A newer version', supersedes: id });
  expect(await verifiedLedger(node)).toMatchObject({ ok: true, sealed: 0, problems: [] });
});

test('nothing is sealed while the key of the owner cannot be read', async () => {
  const { node, pack } = await sealedArchive();
  const file = join(node.dataFolder, 'withheld.key');
  const key = await readFile(file, 'utf8');
  const fields = { target: { kind: 'pack', id: pack }, text: 'Next', sealed: true };
  const mistyped = key.replace(/.\n$/, (end) => (end === 'Q\n' ? 'P\n' : 'Q\n'));
  for (const text of ['no key', key + mistyped]) {
    await writeFile(file, text);
    const refused = node.sendJson('POST', '/manage/findings', fields);
    expect(await problemOf(refused), text).toMatchObject({ status: 409, code: 'owner_key_invalid' });
  }
  expect(await read(node.fetch('/api/findings/sealed'))).toMatchObject({ total: 1 });
});

test('what is sealed is nowhere in the clear but in the database of its owner', async () => {
  const { node, pack, sealed, logged } = await sealedArchive({ rendererFolder: await builtInterface() });
  const place = join(await temporaryFolder(), 'copy');
  const [copy, taker] = [await addCopy(node, place), await openTestNode()];
  await sync(node, copy);
  await mirror(taker, await addPeer(taker, node.url), { packs: true });
  const made = await temporaryFolder();
  const exported = join(await temporaryFolder(), 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', exported])).toMatchObject({ code: 0 });
  await extract(exported, join(made, 'exported'));
  const dump = await textOf(node, '/api/dump.jsonl');
  await writeFile(join(made, 'dump.jsonl'), dump);
  await writeFile(join(made, 'evidence.html'), await textOf(node, `/api/packs/${pack}/evidence`));
  for (const [index, path] of [
    '/api/findings?state=all',
    '/api/findings?format=csv&state=all',
    '/api/findings?format=jsonld&state=all',
    '/api/findings/tags',
    '/api/findings/sealed',
    `/api/findings/${sealed.id}`,
    `/api/findings/${sealed.id}/evidence`,
    `/api/items/${sealed.id}/cite`,
    '/api/events.atom',
    `/api/packs/${pack}`,
    '/api/ledger',
  ].entries())
    await writeFile(join(made, `answer-${index}`), await (await fetch(new URL(path, node.url))).text());
  for (const folder of [place, made, taker.dataFolder])
    for (const word of Object.values(WORDS)) expect(await filesWith(folder, word), folder).toEqual([]);
  expect(logged.join('\n')).not.toMatch(anyWord);
  expect(dump).toContain('"kind":"sealed_finding"');
  expect(await filesWith(place, sealed.sealed.commitment)).not.toEqual([]);
  expect(
    (await filesWith(node.dataFolder, WORDS.text)).every((file) => file.startsWith('strongroom.db')),
  ).toBe(true);
  const report = await runHere(['verify', join(made, 'dump.jsonl')]);
  expect(report).toMatchObject({ code: 0 });
  expect(report.stdout).toContain('1 finding is sealed');
  const copied = await runHere(['verify', pathToFileURL(place).href]);
  expect(copied).toMatchObject({ code: 0 });
  expect(copied.stdout).toContain('1 finding is sealed');

  await reveal(node, sealed.id);
  await sync(node, copy);
  expect(await filesWith(place, WORDS.text)).not.toEqual([]);
  expect(await verified(place)).toMatchObject({ ok: true });
});

test('a finding stays sealed without the key of its owner, who reads and reveals it with the key', async () => {
  const { node, pack, sealed } = await sealedArchive();
  const open = await seal(node, pack);
  expect((await reveal(node, open.id)).status).toBe(201);
  const place = join(await temporaryFolder(), 'copy');
  await sync(node, await addCopy(node, place));
  const [data, base] = [node.dataFolder, await temporaryFolder()];
  const dump = join(base, 'dump.jsonl');
  await writeFile(dump, await textOf(node, '/api/dump.jsonl'));
  await node.close();
  const asOwner = async (dataFolder: string) => {
    const opened = await openTestNode({ dataFolder });
    const answer = await read<SealedFinding>(opened.fetchAsOwner(`/api/findings/${sealed.id}`));
    const shown = await read<FindingDetails>(opened.fetch(`/api/findings/${open.id}`));
    expect(shown.sealed?.record).toMatchObject({ text: sealed.text });
    const { ok, sealed: unreadable } = (await verifiedLedger(opened)) as { ok: boolean; sealed: number };
    expect(ok).toBe(true);
    return { opened, answer, unreadable };
  };

  const without = join(base, 'without');
  const restored = await runHere(['restore', place, '--data', without]);
  expect(restored.code).toBe(1);
  expect(restored.stderr).toContain('1 sealed finding stays sealed');
  const blind = await asOwner(without);
  expect(blind).toMatchObject({ unreadable: 1 });
  expect(blind.answer).toEqual({ id: sealed.id, ledger_entry: sealed.ledger_entry, sealed: sealed.sealed });
  expect(await problemOf(reveal(blind.opened, sealed.id))).toMatchObject({ code: 'sealed_unreadable' });
  await blind.opened.close();
  expect((await runHere(['ledger', 'verify', '--data', without])).stdout).toContain('1 finding is sealed');

  const identity = ['--identity', join(data, 'withheld.key')];
  const whole = join(base, 'whole');
  expect(await runHere(['restore', place, '--data', whole, ...identity])).toMatchObject({ code: 0 });
  expect(await asOwner(whole)).toMatchObject({ answer: sealed, unreadable: 0 });

  // From a dump into a new folder, into which the key is put; and into the old folder, whose database is lost.
  const imported = join(base, 'imported');
  const importing = await runHere(['import', dump, '--data', imported]);
  expect([importing.code, importing.stdout]).toEqual([
    0,
    expect.stringContaining(`1 finding stays sealed: the key is not here. ${ADD_EARLIER_KEY}`),
  ]);
  // What is sealed meanwhile makes a key of its own, to which the earlier one is added.
  expect(await runHere(['key', '--renew', '--data', imported])).toMatchObject({ code: 0 });
  const meanwhile = (await asOwner(imported)).opened;
  const later = await seal(meanwhile, pack);
  const laterDump = join(base, 'later.jsonl');
  await writeFile(laterDump, await textOf(meanwhile, '/api/dump.jsonl'));
  await meanwhile.close();
  await appendFile(join(imported, 'withheld.key'), await readFile(join(data, 'withheld.key')));
  const withBoth = await asOwner(imported);
  expect(withBoth).toMatchObject({ answer: sealed, unreadable: 0 });
  await withBoth.opened.close();
  const again = join(base, 'again');
  expect(await runHere(['import', laterDump, '--data', again])).toMatchObject({ code: 0 });
  await copyFile(join(imported, 'withheld.key'), join(again, 'withheld.key'));
  const last = await asOwner(again);
  expect(last).toMatchObject({ answer: sealed, unreadable: 0 });
  expect(await read(last.opened.fetchAsOwner(`/api/findings/${later.id}`))).toEqual(later);
  for (const ending of ['', '-wal', '-shm']) await rm(join(data, `strongroom.db${ending}`), { force: true });
  await rebuildArchive({ folder: data, clock: systemClock, dump });
  const { opened, answer } = await asOwner(data);
  expect(answer).toEqual(sealed);
  const revealed = await read<FindingDetails>(reveal(opened, sealed.id));
  expect(canonicalText(revealed.sealed?.record)).toContain(WORDS.quote);
  expect(await verifiedLedger(opened)).toMatchObject({ ok: true });
});

test('the verification of the ledger finds what was altered', async () => {
  const { node, pack, sealed } = await sealedArchive();
  await seal(node, pack);
  await reveal(node, sealed.id);
  await node.close();
  const problemsAfter = async (sql: string) => {
    const folder = await temporaryFolder();
    await copyFile(join(node.dataFolder, 'strongroom.db'), join(folder, 'strongroom.db'));
    const database = openForWriting(join(folder, 'strongroom.db'));
    for (const table of ['sealed_findings', 'revealed_findings', 'findings'])
      for (const change of ['update', 'delete']) database.exec(`DROP TRIGGER ${table}_refuses_${change}`);
    database.pragma('foreign_keys = OFF');
    database.exec(sql);
    database.close();
    const { problems } = await runLedgerVerification({ folder, clock: systemClock });
    return problems.map(({ problem }) => problem);
  };
  const otherId = `UPDATE sealed_findings SET id = 'fi_${'0'.repeat(20)}' WHERE id <> '${sealed.id}'`;
  expect(await problemsAfter('SELECT 1')).toEqual([]);
  expect(await problemsAfter("UPDATE sealed_texts SET record = replace(record, 'All', 'No')")).toEqual([
    'wrong_digest',
  ]);
  expect(await problemsAfter(otherId)).toEqual(['missing_subject']);
  expect(await problemsAfter(`UPDATE revealed_findings SET salt = '${'0'.repeat(64)}'`)).toEqual([
    'wrong_digest',
  ]);
  expect(await problemsAfter("UPDATE findings SET text = 'Forged'")).toEqual([
    'wrong_digest',
    'wrong_digest',
  ]);
  expect(await problemsAfter('DELETE FROM revealed_findings')).toEqual(['missing_subject']);
});
