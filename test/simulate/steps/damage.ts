import { rm, truncate, writeFile } from 'node:fs/promises';
import type { AuditResult } from '../../../shared/ledger/fixity.ts';
import { jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import type { Held } from '../model.ts';
import type { World } from '../world.ts';
import { blobFile, isHere } from './copies.ts';
import { formOf, newRecord } from './packs.ts';
import type { StepKind } from './step.ts';

const held = (world: World) =>
  [...world.model.bytes.values()].filter(
    ({ sha256, state, content }) => state === 'held' && content.length > 0 && isHere(world, sha256),
  );

async function damage(world: World, { sha256, content }: Held, dice: Dice): Promise<string> {
  const file = blobFile(world, sha256);
  const how = dice.one(['removed', 'cut', 'altered']);
  if (how === 'removed') await rm(file);
  else if (how === 'cut') await truncate(file, dice.int(content.length));
  else {
    const bytes = Buffer.from(content);
    const at = dice.int(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.int(8));
    await writeFile(file, bytes);
  }
  return how;
}

async function audit({ node, require }: World): Promise<AuditResult> {
  const answer = await node.asOwner('POST', '/manage/audits?wait=true');
  require(answer, 200);
  return jsonOf<AuditResult>(answer);
}

export const damageSteps = {
  audit: {
    weight: 2,
    isPlain: true,
    run: async (world) => {
      const { damaged_objects, checked } = await audit(world);
      const gone = [...world.model.bytes.values()].filter(({ state }) => state === 'gone').length;
      world.check(
        damaged_objects <= gone,
        () => `An audit found ${damaged_objects} damaged objects, not ${gone}.`,
      );
      return `${checked} objects`;
    },
  },
  /** Damages stored bytes, and repairs them from a copy or from the peer. */
  damageAndRepair: {
    weight: 4,
    can: (world) => held(world).length > 0,
    run: async (world, dice) => {
      const { node } = world;
      const one = dice.one(held(world));
      const how = await damage(world, one, dice);
      const path = `${one.kind === 'blob' ? '/api/blobs/' : '/archive/'}${one.sha256}`;
      // A request finds what is missing or has another size; altered bytes are found by who hashes them.
      const read = await node.asOwner('GET', path, { mayFail: [500, 503] });
      const { damaged_objects } = await audit(world);
      world.check(damaged_objects > 0, `An audit did not notice that ${path} was ${how}.`);
      const after = await node.asOwner('GET', path, { mayFail: [500, 503] });
      world.check(
        after.status !== 200,
        `${path} is known to be ${how}, and is answered with 200; before: ${read.status}.`,
      );
      one.state = 'gone';
      return `${path} ${how}, ${await repair(world, one, dice)}`;
    },
  },
} satisfies Record<string, StepKind>;

async function repair(world: World, one: Held, dice: Dice): Promise<string> {
  const { node, model, require } = world;
  const copies = model.copies.filter(({ isSynced }) => isSynced);
  const way = dice.one([
    'upload',
    'upload',
    ...(copies.length > 0 ? ['check', 'check'] : []),
    'peers',
    'never',
  ]);
  if (way === 'upload') {
    const files = [{ path: 'again.txt', content: one.content, markers: one.markers }];
    const answer = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
    require(answer, 201);
    const { id } = jsonOf<{ id: string }>(answer);
    model.packs.push({ id, files: [{ path: 'again.txt', sha256: one.sha256 }] });
    one.state = 'held';
  } else if (way === 'check') {
    const { id } = dice.one(copies);
    const answer = await node.asOwner('POST', `/manage/copies/${id}/check?wait=true`);
    require(answer, 200);
    await noteRestored(world, one);
  } else if (way === 'peers') {
    require(await node.asOwner('POST', '/manage/repairs?wait=true'), 200);
    await noteRestored(world, one);
  }
  return `${way}: ${one.state}`;
}

/** Whether the bytes are there again, equal. */
async function noteRestored({ node, check }: World, one: Held): Promise<void> {
  const path = `${one.kind === 'blob' ? '/api/blobs/' : '/archive/'}${one.sha256}`;
  const read = await node.asOwner('GET', path, { mayFail: [500, 503] });
  if (read.status !== 200) return;
  check(read.body.equals(one.content), `A repair brought other bytes of ${path}.`);
  one.state = 'held';
}
