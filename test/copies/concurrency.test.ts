import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { recordLines } from '../../server/copies/records.ts';
import { CopySchedule } from '../../server/copies/schedule.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { CopyError } from '../../server/copies/targets/target.ts';
import { inParallel } from '../../server/runtime/concurrency.ts';
import { createLog } from '../../server/runtime/log.ts';
import { run } from '../../server/store/sqlite/engine/queries.ts';
import {
  type CopyRow,
  insertCopy,
  setChecked,
  setDrilled,
  setKeptKey,
  setSynced,
} from '../../server/store/sqlite/node/copies.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import type { Copy, DrillOutcome } from '../../shared/node/copy.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const place = async () => join(await temporaryFolder(), 'copy');
const add = (node: TestNode, folder: string) =>
  node.sendJson('POST', '/manage/copies', { target: pathToFileURL(folder).href });
const copies = async (node: TestNode) =>
  ((await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] }).items;
const post = (node: TestNode, path: string) =>
  node.fetchAsOwner(`/manage/copies/${path}?wait=true`, { method: 'POST' });

describe('one copy at a time', () => {
  test('a folder that is added twice at once is one copy, which goes on', async () => {
    const node = await openTestNode();
    const folder = await place();
    const answers = await Promise.all([add(node, folder), add(node, folder), add(node, folder)]);
    expect(answers.map(({ status }) => status).sort((left, right) => left - right)).toEqual([201, 409, 409]);
    const [copy] = await copies(node);
    expect(await copies(node)).toHaveLength(1);
    expect((await post(node, `${copy?.id}/sync`)).status).toBe(200);
  });

  test('two changes at once are both kept, also if one of them has to find the copy', async () => {
    const node = await openTestNode();
    const { id } = (await (await add(node, await place())).json()) as Copy;
    const change = (body: object) => node.sendJson('PATCH', `/manage/copies/${id}`, body);
    const answers = await Promise.all([
      change({ region: 'eu-west-1' }),
      change({ every_minutes: 90 }),
      change({ pages: true }),
      change({ public_url: 'https://copy.example/' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await copies(node)).toMatchObject([
      { region: 'eu-west-1', every_minutes: 90, pages: true, public_url: 'https://copy.example/' },
    ]);
  });

  test('a sync that is asked for while a copy is marked as lost waits, and finds no copy', async () => {
    const node = await openTestNode();
    const folder = await place();
    const { id } = (await (await add(node, folder)).json()) as Copy;
    await rm(folder, { recursive: true });
    const lost = post(node, `${id}/mark-lost`);
    const [first, second] = await Promise.all([lost, post(node, `${id}/sync`), post(node, `${id}/check`)]);
    expect(first.status).toBe(200);
    expect(second.status).toBe(404);
    expect(await copies(node)).toEqual([]);
  });
});

describe('the schedule', () => {
  const DAY_MS = 86_400_000;
  const idOf = (digit: string) => `cp_${digit.repeat(20)}`;
  let store: Store;
  let clock: ManualClock;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    clock = new ManualClock();
    store = await openStore({ folder: await temporaryFolder(), clock });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await store.close();
  });

  async function addRow(id: string): Promise<void> {
    const row = { id, target: `file:///${id}`, endpoint: null, region: null, every_minutes: 1, pages: 1 };
    const added = { owner_token: 'f'.repeat(32), added_at: store.instant(), public_url: null };
    await store.write((database) => {
      insertCopy(database, { ...row, ...added });
      setSynced(database, { id, case_changes: 0 } as CopyRow, {
        size: 1,
        proofs: '',
        state: null,
        at: store.instant(),
      });
    });
  }

  function follow(
    audit_every_days: number,
    sync: (id: string) => { finished: Promise<unknown> },
    drill: (id: string) => Promise<unknown> = () => Promise.resolve(),
    drill_every_days = 30,
  ) {
    const checked: string[] = [];
    const schedule = new CopySchedule({
      store,
      log: createLog('silent'),
      settings: () => ({ ...DEFAULT_SETTINGS, audit_every_days, drill_every_days }),
      sync,
      check: (id) => {
        checked.push(id);
        return { finished: Promise.resolve() };
      },
      drill: (id) => ({ finished: drill(id) }),
    });
    schedule.start();
    return { checked, schedule };
  }

  const DONE = () => ({ finished: Promise.resolve() });

  test('reads a copy back as often as the archive is audited, also if nothing is offloaded', async () => {
    await addRow(idOf('a'));
    const { checked, schedule } = follow(30, DONE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(checked).toEqual([]);
    await clock.jump(30 * DAY_MS);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(checked).toEqual([idOf('a')]);
    schedule.close();
  });

  test('tests a complete copy once a month, and sooner if what failed may have been put right', async () => {
    for (const digit of ['a', 'b', 'c']) await addRow(idOf(digit));
    await store.write((database) =>
      run(database, 'UPDATE copies SET is_listed = 1 WHERE id <> ?', idOf('c')),
    );
    const drilled: string[] = [];
    let outcome: DrillOutcome = 'restored';
    let running: Promise<unknown> = Promise.resolve();
    const drill = (id: string) => {
      drilled.push(id);
      const at = store.instant();
      const found = { at, outcome, sentence: '', restored: null, needed_bytes: null };
      return (running = store.write((database) => setDrilled(database, id, found)));
    };
    const turn = async (ms: number) => {
      drilled.length = 0;
      await clock.jump(ms);
      for (let poll = 0; poll < 3; poll += 1) {
        await vi.advanceTimersByTimeAsync(60_000);
        await running;
      }
      return drilled;
    };
    const { schedule } = follow(0, DONE, drill);
    expect(await turn(0)).toEqual([idOf('a'), idOf('b')]);
    expect(await turn(29 * DAY_MS)).toEqual([]);
    outcome = 'unreachable';
    expect(await turn(DAY_MS)).toEqual([idOf('a'), idOf('b')]);
    outcome = 'restored';
    expect(await turn(DAY_MS)).toEqual([idOf('a'), idOf('b')]);
    expect(await turn(DAY_MS)).toEqual([]);
    outcome = 'damaged';
    expect(await turn(30 * DAY_MS)).toEqual([idOf('a'), idOf('b')]);
    expect(await turn(DAY_MS)).toEqual([]);
    // A check has sent again what was damaged.
    await store.write((database) => setChecked(database, { id: idOf('b'), at: store.instant() }));
    outcome = 'key_missing';
    expect(await turn(DAY_MS)).toEqual([idOf('b')]);
    expect(await turn(2 * DAY_MS)).toEqual([]);
    await store.write((database) => setKeptKey(database, idOf('b'), 'key', 'recipient'));
    outcome = 'restored';
    expect(await turn(DAY_MS)).toEqual([idOf('b')]);
    schedule.close();
    const never = follow(0, DONE, drill, 0);
    expect(await turn(60 * DAY_MS)).toEqual([]);
    never.schedule.close();
  });

  test('goes on with the other copies if one was removed meanwhile', async () => {
    await addRow(idOf('a'));
    await addRow(idOf('b'));
    const synced: string[] = [];
    const { schedule } = follow(0, (id) => {
      if (id === idOf('a')) throw new Error('There is no such copy.');
      synced.push(id);
      return { finished: Promise.resolve() };
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(synced).toEqual([idOf('b')]);
    schedule.close();
  });
});

test('a record is read when its turn comes, so that none waits in memory', async () => {
  const folder = await temporaryFolder();
  const node = await openTestNode({ dataFolder: folder });
  for (const title of ['One', 'Two', 'Three']) await uploadNewPack(node, sampleRecord({ title }), {});
  await node.close();
  const store = await openStore({ folder, clock: new ManualClock() });
  const lines = recordLines(store.read, 1, 100);
  expect(lines.next().value?.line).toContain('"kind":"entry"');
  await store.write((database) => {
    // Nothing that was recorded changes otherwise.
    const triggers = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'pack_records'",
    );
    for (const name of triggers.pluck().all()) database.exec(`DROP TRIGGER "${String(name)}"`);
    database.exec('DELETE FROM pack_records WHERE ledger_entry > 1');
  });
  const rest = [...lines].map(({ line }) => line);
  expect(rest.filter((line) => line.includes('"kind":"pack"'))).toHaveLength(1);
  expect(rest.filter((line) => line.includes('"kind":"entry"'))).toHaveLength(2);
  await store.close();
});

test('an address that is no valid URL is refused in one sentence', async () => {
  await expect(openTarget({ target: 's3://bucket/%zz' })).rejects.toThrow(CopyError);
  const node = await openTestNode();
  const answer = await node.sendJson('POST', '/manage/copies', { target: 's3://bucket/%zz' });
  expect(await answer.json()).toMatchObject({ status: 422, errors: [{ path: '/target' }] });
});

test('an offloaded object is read from its copy again once that can be opened, whatever the first error was', async () => {
  const node = await openTestNode();
  const folder = await place();
  const { id } = (await (await add(node, folder)).json()) as Copy;
  const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
  await post(node, `${id}/sync`);
  await post(node, `${id}/check`);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  const read = () => node.fetch(`/api/blobs/${files[0]?.sha256}`);
  const credentials = join(node.dataFolder, 'copy-credentials');
  await writeFile(credentials, 'not JSON');
  expect((await read()).ok).toBe(false);
  await rm(credentials);
  expect(await (await read()).text()).toBe('one');
});

test('items are taken from an iterator as they are worked on, and none after an error', async () => {
  let taken = 0;
  function* numbers() {
    for (; taken < 1_000; taken += 1) yield taken;
  }
  let working = 0;
  let most = 0;
  const work = inParallel(numbers(), 3, async (number) => {
    most = Math.max(most, (working += 1));
    await Promise.resolve();
    working -= 1;
    if (number === 10) throw new Error('ten');
  });
  await expect(work).rejects.toThrow('ten');
  expect(most).toBe(3);
  expect(taken).toBeLessThan(20);
});
