import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { type CommandResult, runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { readPages } from './pages/readPages.ts';

const PRELOAD = new URL('./killAtStep.ts', import.meta.url).href;
const SYNCS = 10;
/** A sync of a new pack has about so many steps, of which several are after its checkpoint. */
const STEPS = 36;
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_122);

afterEach(closeTestNodes);

/** Uploads a pack and returns the number of ledger entries. */
async function addPack(dataFolder: string, title: string): Promise<number> {
  const node = await openTestNode({ dataFolder });
  const { ledger_entry } = await uploadNewPack(node, sampleRecord({ title }), { 'a.txt': title });
  await node.close();
  return ledger_entry;
}

function copyKilledAt(step: number, place: string, data: string): Promise<CommandResult> {
  return runCommand(['copy', place, '--pages', '--data', data], undefined, {
    NODE_OPTIONS: `--import=${PRELOAD}`,
    STRONGROOM_TEST_KILL_FOLDER: place,
    STRONGROOM_TEST_KILL_AT: String(step),
  });
}

/** Verifies all that the checkpoint of a copy covers. Returns its size, 0 without a checkpoint. */
async function verifiedSize(place: string, when: string): Promise<number> {
  if (!existsSync(join(place, 'checkpoint'))) return 0;
  const target = await openTarget({ target: pathToFileURL(place).href });
  const { signal } = new AbortController();
  const verified = await verifyCopy(target, { signal, progress: () => {} });
  expect(verified, when).toMatchObject({ ok: true, damaged: [], missing: [] });
  return verified.head?.checkpoint.size ?? 0;
}

test('a sync killed at any step leaves a copy that is intact, and the next sync goes on', async () => {
  const random = seededRandom(SEED);
  const [data, place] = [join(await temporaryFolder(), 'data'), join(await temporaryFolder(), 'copy')];
  let killed = 0;
  let held = 0;
  let size = 0;
  for (let sync = 1; sync <= SYNCS; sync += 1) {
    size = await addPack(data, `Pack ${sync}`);
    const step = 1 + Math.floor(random() * STEPS);
    const when = `STRONGROOM_SEED=${SEED}, sync ${sync}, step ${step}`;
    const { code, stderr } = await copyKilledAt(step, place, data);
    expect(code === null || code === 0, `${when}: ${stderr}`).toBe(true);
    if (code === null) killed += 1;
    const now = await verifiedSize(place, when);
    expect(now, when).toBeGreaterThanOrEqual(held);
    held = now;
    if (code === 0) expect(held, when).toBe(size);
  }
  expect(killed).toBeGreaterThanOrEqual(SYNCS / 2);
  expect(await runCommand(['copy', place, '--data', data])).toMatchObject({ code: 0, stderr: '' });
  expect(await verifiedSize(place, 'after the last sync')).toBe(size);
  const whole = join(await temporaryFolder(), 'whole');
  expect(await runCommand(['copy', whole, '--pages', '--data', data])).toMatchObject({ code: 0, stderr: '' });
  expect(await readPages(place)).toEqual(await readPages(whole));
});

test('a first copy that is killed goes on, even if one pack holds all objects', async () => {
  const [data, place] = [join(await temporaryFolder(), 'data'), join(await temporaryFolder(), 'copy')];
  const node = await openTestNode({ dataFolder: data });
  const files = Object.fromEntries(Array.from({ length: 1_200 }, (_, index) => [`${index}.txt`, `${index}`]));
  await uploadNewPack(node, sampleRecord(), files);
  await node.close();
  // Two steps for the claim, two for each of the first thousand objects, and some of the others.
  expect(await copyKilledAt(2_100, place, data)).toMatchObject({ code: null });
  expect(await verifiedSize(place, 'killed')).toBe(0);
  const { stdout } = await runCommand(['copy', place, '--data', data, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, objects: 200, records: 1 });
  expect(await verifiedSize(place, 'after the second sync')).toBe(1);
});
