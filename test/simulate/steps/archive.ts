import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { requireAll, SAMPLE } from '../invariants.ts';
import type { CopyOfArchive } from '../model.ts';
import type { World } from '../world.ts';
import { addCopy, addressOf, isHere, PASSPHRASE, sync } from './copies.ts';
import { formOf, newFiles, newRecord } from './packs.ts';
import type { StepKind } from './step.ts';

const KEY_FILE = 'withheld.key';
/** How many of the descendants the archive goes on in. */
const ADOPTED = 0.4;
const KILLED = 0.2;

const isWhole = ({ model }: World) => [...model.bytes.values()].every(({ state }) => state !== 'gone');
const hasFolder = ({ model }: World) => model.copies.some(({ place }) => place !== undefined);

/** Runs a command and requires its exit code. */
async function run(
  world: World,
  words: readonly string[],
  codes: readonly number[] = [0],
  env = {},
): Promise<string> {
  const { code, output } = await world.command(words, env);
  world.check(
    codes.includes(code ?? -1),
    () => `strongroom ${words[0]} ended with ${code}: ${output.slice(0, 800)}`,
  );
  return output;
}

/** Does a command that makes a folder, perhaps after it was killed once. */
async function runAgain(
  world: World,
  dice: Dice,
  words: readonly string[],
  codes: readonly number[] = [0],
  env = {},
): Promise<string> {
  const ended = dice.chance(KILLED)
    ? await world.killedCommand(words, world.root, dice.between(1, 25), env)
    : null;
  // With fewer steps than that it was not killed.
  if (ended !== null && codes.includes(ended)) return 'in a process of its own';
  return (await run(world, words, codes, env)).split('\n').at(0) ?? '';
}

/** Looks at a descendant of the archive with everything that must hold, and perhaps goes on in it. */
async function inspect(
  world: World,
  dice: Dice,
  folder: string,
  isAdopted = dice.chance(ADOPTED),
): Promise<string> {
  await world.look(folder, (node: Client) => requireAll(world, dice, SAMPLE, node));
  if (!isAdopted) {
    await rm(folder, { recursive: true });
    return 'equal';
  }
  await world.adopt(folder);
  return 'the archive goes on there';
}

async function saveDump({ node, place, require }: World): Promise<string> {
  const dump = await node.asVisitor('/api/dump.jsonl');
  require(dump, 200);
  const file = `${place('dump')}.jsonl`;
  await writeFile(file, dump.body);
  return file;
}

/** Puts the owner's key beside a descendant, as its owner would. */
async function bringKey(world: World, folder: string): Promise<void> {
  await cp(join(world.data, KEY_FILE), join(folder, KEY_FILE)).catch(() => undefined);
}

export const archiveSteps = {
  exportImport: {
    weight: 5,
    can: isWhole,
    run: async (world, dice) => {
      const [file, folder] = [`${world.place('export')}.zip`, world.place('imported')];
      await run(world, ['export', '--data', world.data, '--out', file]);
      await run(world, ['verify', file]);
      const said = await runAgain(world, dice, ['import', file, '--data', folder]);
      await rm(file);
      if (dice.chance(0.6)) await bringKey(world, folder);
      return `${said}: ${await inspect(world, dice, folder)}`;
    },
  },
  dumpImport: {
    weight: 2,
    run: async (world, dice) => {
      const file = await saveDump(world);
      await run(world, ['verify', file]);
      const folder = world.place('from-dump');
      await runAgain(world, dice, ['import', file, '--data', folder]);
      // It has no bytes: whatever reads one, as the list of a set, records that it is missing.
      const read = (node: Client) => node.asVisitor('/api/dump.jsonl');
      const again = await world.look(folder, read, { derive: false });
      const lines = (text: string) => text.trimEnd().split('\n').slice(1, -1);
      const before = lines(await readFile(file, 'utf8'));
      const known = new Set(before);
      const isDamage = /^\{"kind":("object_damage"|"entry".*"type":"object\.damaged")/;
      const after = lines(again.body.toString()).filter((line) => known.has(line) || !isDamage.test(line));
      const differing = before.findIndex((line, index) => line !== after[index]);
      world.check(
        differing < 0 && before.length === after.length,
        () => `A dump of an imported dump differs: ${before[differing]} ${after[differing]}`,
      );
      await rm(folder, { recursive: true });
      return `${before.length} lines`;
    },
  },
  restore: {
    weight: 7,
    can: (world) => isWhole(world) && hasFolder(world),
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies.filter(({ place }) => place !== undefined));
      await sync(world, copy);
      const folder = world.place('restored');
      const way = dice.one(['without', 'identity', ...(copy.hasKey ? ['key'] : [])]);
      const { words, env } = addressOf(world, copy);
      const identity = way === 'identity' ? await ownerKey(world) : undefined;
      const options = way === 'key' ? ['--key'] : identity ? ['--identity', identity] : [];
      const command = ['restore', ...words, '--data', folder, ...options];
      const said = await runAgain(world, dice, command, [0, 1], {
        ...env,
        STRONGROOM_PASSPHRASE: PASSPHRASE,
      });
      await run(world, ['key', '--renew', '--data', folder]);
      return `${way}, ${said}: ${await inspectRestored(world, dice, folder, copy)}`;
    },
  },
  rebuild: {
    weight: 2,
    can: isWhole,
    run: async (world) => {
      const { node, require } = world;
      require(await node.asOwner('POST', '/manage/offload/return?wait=true'), 200);
      const file = await saveDump(world);
      await world.stop();
      await cp(file, join(world.data, 'dump.jsonl'));
      for (const ending of ['', '-wal', '-shm'])
        await rm(join(world.data, `strongroom.db${ending}`), { force: true });
      const said = await run(world, ['rebuild', world.data]);
      await rm(join(world.data, 'dump.jsonl'));
      await world.adopt(world.data);
      return said.split('\n')[0] ?? '';
    },
  },
  move: {
    weight: 2,
    run: async (world, dice) => {
      const [from, to] = [world.data, world.place('moved')];
      await world.stop();
      const words = ['move', from, to];
      const ended = dice.chance(0.3)
        ? await world.killedCommand(words, world.root, dice.between(1, 60))
        : undefined;
      const isDone = ended === 0 || ended === 1;
      const { code, output } = isDone ? { code: ended, output: '' } : await world.command(words);
      // It may have been killed when it was done.
      const isThere = code === 0 || code === 1 || (ended === null && output.includes('was moved'));
      world.check(isThere, () => `A move ended with ${code}: ${output}`);
      world.data = to;
      await world.start();
      world.require(await world.node.asOwner('DELETE', '/manage/data-folder/old'), 204, 200);
      return `${ended === null ? 'killed once, ' : ''}exit code ${code}`;
    },
  },
  renewKey: {
    weight: 1,
    run: async (world) => {
      await world.stop();
      const said = await run(world, ['key', '--renew', '--data', world.data]);
      await world.start();
      forgetKey(world);
      return said.split('\n')[0] ?? '';
    },
  },
  acceptRollback: {
    weight: 1,
    run: async (world, dice) => {
      const { data } = world;
      await world.stop();
      const older = world.place('older');
      await cp(join(data, 'strongroom.db'), older);
      await world.start();
      // It is acknowledged, and then lost with the consent of the owner.
      const lost = await world.node.asOwner('POST', '/api/packs', {
        body: formOf(newRecord(dice), newFiles(dice, 1)),
      });
      world.require(lost, 201);
      world.require(await world.node.asVisitor('/api/ledger/checkpoint'), 200);
      await world.stop();
      await cp(older, join(data, 'strongroom.db'));
      for (const ending of ['-wal', '-shm']) await rm(join(data, `strongroom.db${ending}`), { force: true });
      const isRefused = await world.start().then(
        () => false,
        () => true,
      );
      world.check(isRefused, 'A node opened a database that is behind what it had acknowledged.');
      const said = await run(world, ['key', '--accept-rollback', '--data', data]);
      await world.start();
      forgetKey(world);
      return said.split('\n')[0] ?? textOf(lost);
    },
  },
} satisfies Record<string, StepKind>;

/** The archive has another key than the peer and the copies know. */
function forgetKey(world: World): void {
  for (const copy of world.model.copies) copy.hasKey = false;
  world.isFirstLog = false;
}

/** The file with the key that decrypts what is sealed; undefined if there is none yet. */
async function ownerKey({ data }: World): Promise<string | undefined> {
  const file = join(data, KEY_FILE);
  return (await readFile(file).catch(() => undefined)) ? file : undefined;
}

/** Looks at a restored archive. A copy with pages did not have what is withheld. */
async function inspectRestored(
  world: World,
  dice: Dice,
  folder: string,
  copy: CopyOfArchive,
): Promise<string> {
  const { model } = world;
  const leftOut = copy.pages
    ? [...model.bytes.values()].filter((held) => held.state === 'held' && model.isWithheld(held.sha256))
    : [];
  for (const held of leftOut) held.state = 'gone';
  const isAdopted = dice.chance(ADOPTED);
  let said: string;
  try {
    said = await inspect(world, dice, folder, isAdopted);
  } finally {
    if (!isAdopted) for (const held of leftOut) held.state = 'held';
  }
  if (!isAdopted) return said;
  for (const held of leftOut) if (isHere(world, held.sha256)) held.state = 'held';
  // The copy from which it was restored goes on as a copy of this archive.
  if (dice.chance(0.5)) await addCopy(world, { ...copy, hasKey: false, isSynced: false });
  return said;
}
