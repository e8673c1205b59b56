import { afterEach, describe, expect, test } from 'vitest';
import { findCosignature, parseCosignerKey } from '../../../server/ledger/witness/cosignature.ts';
import { parseCheckpointRequest } from '../../../server/ledger/witness/witnessing.ts';
import type { WitnessRefusal } from '../../../shared/ledger/ledger.ts';
import { noteBody } from '../../../shared/proof/ledger/signedNote.ts';
import { problemOf } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';
import { history, ScriptedLog } from './scriptedLog.ts';

afterEach(closeTestNodes);

async function openWitness(log: ScriptedLog): Promise<TestNode> {
  const node = await openTestNode();
  const added = await node.sendJson('POST', '/manage/witness/logs', { key: log.key });
  expect(added.status).toBe(201);
  return node;
}

function ask(witness: TestNode, body: string): Promise<Response> {
  return witness.fetch('/witness/add-checkpoint', { method: 'POST', body });
}

async function keyOf(witness: TestNode) {
  const key = parseCosignerKey((await (await witness.fetch('/witness/key')).text()).trim());
  if (!key) throw new Error('The witness has no key for cosignatures.');
  return key;
}

/** The size in a 409. */
async function conflictOf(response: Response): Promise<string> {
  expect([response.status, response.headers.get('Content-Type')]).toEqual([409, 'text/x.tlog.size']);
  return response.text();
}

async function refusalsOf(witness: TestNode): Promise<WitnessRefusal[]> {
  return (
    (await (await witness.fetchAsOwner('/manage/witness/refusals')).json()) as { items: WitnessRefusal[] }
  ).items;
}

describe('a witness by C2SP tlog-witness', () => {
  test('cosigns what continues the log, and answers each other request with its status', async () => {
    const log = new ScriptedLog();
    const stranger = await openTestNode();
    const leaves = history('a', 9);
    expect(await problemOf(ask(stranger, log.request(leaves, 0)))).toMatchObject({
      status: 404,
      code: 'unknown_log',
    });
    const witness = await openWitness(log);
    const key = await keyOf(witness);

    const first = await ask(witness, log.request(leaves.slice(0, 3), 0));
    expect([first.status, first.headers.get('Content-Type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const line = await first.text();
    const found = findCosignature(line, noteBody(log.checkpoint(leaves.slice(0, 3))), key);
    expect(found?.line).toBe(line);
    expect(Math.abs((found?.at ?? 0) - Date.now())).toBeLessThan(600_000);
    expect(findCosignature(line, noteBody(log.checkpoint(leaves)), key)).toBeUndefined();

    expect(await conflictOf(await ask(witness, log.request(leaves, 0)))).toBe('3\n');
    expect(await conflictOf(await ask(witness, log.request(leaves, 4)))).toBe('3\n');
    expect((await ask(witness, log.request(leaves, 3))).status).toBe(200);
    expect((await ask(witness, log.request(leaves, 9))).status).toBe(200);
    expect(await conflictOf(await ask(witness, log.request(leaves.slice(0, 3), 3)))).toBe('9\n');

    const unsigned = log.request(leaves, 9).replace(/— .*\n$/, '— log.example/scripted AAAAAAAA\n');
    expect(await problemOf(ask(witness, unsigned))).toMatchObject({
      status: 403,
      code: 'checkpoint_not_signed',
    });
    const altered = log.request(leaves, 9).replace('\n9\n', '\n8\n');
    expect(await problemOf(ask(witness, altered.replace('old 9', 'old 8')))).toMatchObject({ status: 403 });
    expect(await problemOf(ask(witness, `old 9\n${log.checkpoint(leaves)}`))).toMatchObject({ status: 400 });
    const hash = `${Buffer.alloc(32).toString('base64')}\n`;
    for (const body of [
      '',
      'old 9',
      'old 09\n\nx\n',
      'old -1\n\nx\n',
      'old 9\nAAAA\n\nx\n',
      `old 9\n${hash.repeat(64)}\nx\n`,
    ])
      expect(await problemOf(ask(witness, body)), body.slice(0, 20)).toMatchObject({ status: 400 });
    expect(
      await problemOf(ask(witness, log.request(leaves.slice(0, 3), 0).replace('old 0', 'old 10'))),
    ).toMatchObject({
      status: 400,
    });
    expect(await problemOf(ask(witness, 'a'.repeat(70_000)))).toMatchObject({ status: 413 });
    expect(await refusalsOf(witness)).toEqual([]);
  });

  test('refuses a log that shows another history, and keeps both checkpoints as evidence', async () => {
    const log = new ScriptedLog();
    const [first, second] = [await openWitness(log), await openWitness(log)];
    const [shown, other] = [history('a', 5), history('b', 7)];
    expect((await ask(first, log.request(shown, 0))).status).toBe(200);
    expect((await ask(second, log.request(other, 0))).status).toBe(200);

    const rewritten = log.request(other, 5);
    expect(await problemOf(ask(first, rewritten))).toMatchObject({
      status: 422,
      code: 'inconsistent_checkpoint',
    });
    expect(await problemOf(ask(first, rewritten))).toMatchObject({ status: 422 });
    const sameSize = log.request(history('c', 5), 5);
    expect(await conflictOf(await ask(first, sameSize))).toBe('5\n');
    expect(await refusalsOf(first)).toMatchObject([
      { origin: 'log.example/scripted', known_size: 5, size: 5, is_proof: true, request: sameSize },
      { known_size: 5, known_note: log.checkpoint(shown), size: 7, is_proof: false, request: rewritten },
    ]);
    expect(await refusalsOf(second)).toEqual([]);
    // Neither changed what the witness knows.
    expect((await ask(first, log.request(history('a', 6), 5))).status).toBe(200);
  });

  test('of two requests at once it cosigns one, and never goes back', async () => {
    const log = new ScriptedLog();
    const witness = await openWitness(log);
    const leaves = history('a', 20);
    await ask(witness, log.request(leaves.slice(0, 4), 0));
    const sizes = Array.from({ length: 12 }, (_, index) => 5 + index);
    const answers = await Promise.all(
      sizes.map((size) => ask(witness, log.request(leaves.slice(0, size), 4))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const cosigned = sizes[answers.findIndex(({ status }) => status === 200)];
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect(await conflictOf(answer)).toBe(`${cosigned}\n`);
  });

  test('a removed log is refused, and comes back with the state that it had', async () => {
    const log = new ScriptedLog();
    const witness = await openWitness(log);
    await ask(witness, log.request(history('a', 5), 0));
    const again = () => witness.sendJson('POST', '/manage/witness/logs', { key: log.key });
    expect(await problemOf(again())).toMatchObject({ status: 409, code: 'log_exists' });
    const path = '/manage/witness/logs/log.example/scripted';
    expect((await witness.fetchAsOwner(path, { method: 'DELETE' })).status).toBe(204);
    expect(await problemOf(witness.fetchAsOwner(path, { method: 'DELETE' }))).toMatchObject({ status: 404 });
    expect(await problemOf(ask(witness, log.request(history('a', 6), 5)))).toMatchObject({ status: 404 });
    expect(await (await again()).json()).toMatchObject({ origin: 'log.example/scripted', size: 5 });
    expect(await conflictOf(await ask(witness, log.request(history('b', 1), 0)))).toBe('5\n');
  });

  test('keeps its key and its state over a restart, and is open to visitors while it is shared', async () => {
    const log = new ScriptedLog();
    const node = await openWitness(log);
    const key = await (await node.fetch('/witness/key')).text();
    await ask(node, log.request(history('a', 5), 0));
    await node.close();
    const { dataFolder } = node;
    const witness = await openTestNode({ dataFolder });
    expect(await (await witness.fetch('/witness/key')).text()).toBe(key);
    expect(await conflictOf(await ask(witness, log.request(history('b', 6), 0)))).toBe('5\n');
    const key2 = await (await witness.fetch('/api/ledger/key')).text();
    expect(key.split('+')[2]).not.toBe(key2.split('+')[2]);
    const foreign = {
      method: 'POST',
      body: log.request(history('a', 6), 5),
      headers: { 'Sec-Fetch-Site': 'cross-site' },
    };
    expect(await problemOf(witness.fetch('/witness/add-checkpoint', foreign))).toMatchObject({
      code: 'not_shared',
    });
    await witness.sendJson('PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
    expect((await witness.fetch('/witness/add-checkpoint', foreign)).status).toBe(200);
  });
});

describe('the examples of the specification', () => {
  test('the request of tlog-witness is read', () => {
    const note = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
`;
    const proof = [
      'PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=',
      'jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=',
      '5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=',
      '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
    ];
    expect(parseCheckpointRequest(`old 20852014\n${proof.join('\n')}\n\n${note}`)).toEqual({
      oldSize: 20_852_014,
      proof: proof.map((line) => Buffer.from(line, 'base64')),
      note,
      origin: 'example.com/behind-the-sofa',
    });
  });
});
