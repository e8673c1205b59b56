import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { release } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode } from '../support/node.ts';
import { indexedText, isClean, textsFound } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(36);

test('it is not clean while somebody reads an older state from the log, and becomes clean after that', async () => {
  const clock = new ManualClock();
  const node = await openTestNode({ ...DERIVING, clock });
  const marker = newMarker(dice);
  const sha256 = await indexedText(node, marker);
  const reader = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
  try {
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM ledger').get();
    await release(node, sha256);
    await clock.sleeperOf(2_000);
    expect(await (await node.fetchAsOwner('/manage/storage')).json()).toMatchObject({ cleaning: true });
    expect(await markersInFolder(node.dataFolder, [marker])).not.toEqual([]);
  } finally {
    reader.close();
  }
  await clock.jump(2_000);
  await isClean(node);
  expect(await markersInFolder(node.dataFolder, [marker])).toEqual([]);
});

test('what is released for its age is overwritten, too', async () => {
  const clock = new ManualClock();
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({}, { ...DERIVING, clock });
  const [old, recent] = [newMarker(dice), newMarker(dice)];
  const text = (word: string) => page(`<html><body><p>A ${word} text.</p></body></html>`);
  web.script('/a', text(old), text(recent), text(recent));
  await node.watch(web.url('/a'), { keep_days: 3 });
  for (const word of [old, recent]) {
    await node.check();
    await eventually(async () => expect(await textsFound(node.node, word)).toBe(1));
  }
  await clock.jump(10 * 86_400_000);
  await node.check();
  await eventually(async () => expect(await node.read('/api/released')).toMatchObject({ total: 1 }));
  await isClean(node.node);
  expect(await markersInFolder(node.node.dataFolder, [old])).toEqual([]);
  expect(await markersInFolder(node.node.dataFolder, [recent])).not.toEqual([]);
});
