import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CopyCheck, RestoreDrill } from '../../../shared/node/copy.ts';
import { codeOf, jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import type { CopyOfArchive } from '../model.ts';
import type { World } from '../world.ts';
import type { StepKind } from './step.ts';

export const PASSPHRASE = 'correct horse battery';
const MOST_COPIES = 3;

const hasCopy = ({ model }: World) => model.copies.length > 0;
const isSynced = ({ isSynced: yes }: CopyOfArchive) => yes;
const hasSynced = ({ model }: World) => model.copies.some(isSynced);
const inFolders = ({ model }: World) => model.copies.filter(({ place }) => place !== undefined);

/** Starts a job of a copy, and returns what it brought about. */
async function job<Result>({ node, require }: World, { id }: CopyOfArchive, what: string): Promise<Result> {
  const answer = await node.asOwner('POST', `/manage/copies/${id}/${what}?wait=true`, { mayFail: [502] });
  require(answer, 200);
  return jsonOf<Result>(answer);
}

export async function sync(world: World, copy: CopyOfArchive): Promise<void> {
  const { model } = world;
  const result = await job<{ withheld_in_the_clear: number }>(world, copy, 'sync');
  if (copy.pages)
    world.check(
      result.withheld_in_the_clear === 0,
      () => `A sync left ${result.withheld_in_the_clear} withheld objects in the clear.`,
    );
  copy.isSynced = true;
  copy.syncedAt = model.moment;
}

async function check(world: World, copy: CopyOfArchive): Promise<CopyCheck> {
  return job<CopyCheck>(world, copy, 'check');
}

/** The arguments with which a command finds a copy, and its environment. */
export function addressOf({ store }: World, { target, place }: CopyOfArchive) {
  if (place !== undefined || !store) return { words: [place ?? target], env: {} };
  const { endpoint, region, access_key, secret_key } = store;
  return {
    words: [target, '--endpoint', endpoint, '--region', region],
    env: { AWS_ACCESS_KEY_ID: access_key, AWS_SECRET_ACCESS_KEY: secret_key },
  };
}

export async function addCopy(world: World, copy: CopyOfArchive): Promise<void> {
  const { node, model, require, store } = world;
  const { target, pages, place } = copy;
  const { endpoint, region, access_key, secret_key } = store ?? {};
  const reached = place === undefined ? { endpoint, region, access_key, secret_key } : {};
  const answer = await node.asOwner('POST', '/manage/copies', { json: { target, pages, ...reached } });
  require(answer, 201);
  model.copies.push({ ...copy, id: jsonOf<{ id: string }>(answer).id });
}

const STAY = { offload_after_days: null };

export const copySteps = {
  addCopy: {
    weight: 6,
    can: ({ model }) => model.copies.length < MOST_COPIES,
    run: async (world, dice) => {
      const isBucket = world.store !== undefined && dice.chance(0.4);
      const place = isBucket ? undefined : world.place('copy');
      const target = place ? pathToFileURL(place).href : `s3://${world.bucket}/${dice.letters(12)}`;
      const pages = dice.chance(0.6);
      await addCopy(world, { id: '', target, place, pages, hasKey: false, isSynced: false, syncedAt: 0 });
      return `${isBucket ? 'a bucket' : 'a folder'}${pages ? ' with pages' : ''}`;
    },
  },
  sync: {
    weight: 8,
    isPlain: true,
    can: hasCopy,
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies);
      await sync(world, copy);
      return copy.id;
    },
  },
  checkCopy: {
    weight: 2,
    isPlain: true,
    can: hasSynced,
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies.filter(isSynced));
      // What was withheld since the last sync is in the clear until the next one.
      await sync(world, copy);
      const found = await check(world, copy);
      world.check(found.ok, () => `A check of an intact copy found ${JSON.stringify(found)}.`);
      return `${found.checked} files`;
    },
  },
  verifyCopy: {
    weight: 2,
    can: hasSynced,
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies.filter(isSynced));
      await sync(world, copy);
      const { words, env } = addressOf(world, copy);
      const { code, output } = await world.command(['verify', ...words], env);
      const isComplete = [...world.model.bytes.values()].every(({ state }) => state !== 'gone');
      world.check(
        code === 0 || (code === 1 && !isComplete),
        () => `A synced copy does not verify: ${output}`,
      );
      return `exit code ${code}`;
    },
  },
  damageCopy: {
    weight: 2,
    can: (world) => inFolders(world).some(isSynced),
    run: async (world, dice) => {
      const copy = dice.one(inFolders(world).filter(isSynced));
      await sync(world, copy);
      // What has been offloaded is nowhere else.
      const file = await damageFile(world, copy, dice);
      if (!file) return 'nothing to damage';
      const found = await check(world, copy);
      world.check(!found.ok, `A check did not notice that ${file} of a copy was damaged.`);
      const again = await check(world, copy);
      world.check(again.ok, () => `A second check of a copy found ${JSON.stringify(again)} after ${file}.`);
      return file;
    },
  },
  drill: {
    weight: 1,
    isPlain: true,
    can: hasSynced,
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies.filter(isSynced));
      const { outcome, sentence } = await job<RestoreDrill>(world, copy, 'drill');
      const isComplete = [...world.model.bytes.values()].every(({ state }) => state !== 'gone');
      world.check(
        outcome === 'restored' || outcome === 'key_missing' || !isComplete,
        `A drill of an intact copy: ${outcome}, ${sentence}`,
      );
      return outcome;
    },
  },
  keepKey: {
    weight: 1,
    isPlain: true,
    can: hasSynced,
    run: async (world, dice) => {
      const copy = dice.one(world.model.copies.filter(isSynced));
      const path = `/manage/copies/${copy.id}/key`;
      world.require(await world.node.asOwner('PUT', path, { json: { passphrase: PASSPHRASE } }), 200);
      copy.hasKey = true;
      return copy.id;
    },
  },
  offload: {
    weight: 3,
    isPlain: true,
    can: hasSynced,
    run: async (world, dice) => {
      const { node, require, model } = world;
      const copy = dice.one(model.copies.filter(isSynced));
      await check(world, copy);
      // Objects would leave after any later check, also while a copy is being lost.
      world.attempt = async () => {
        require(await world.node.asOwner('PATCH', '/manage/settings', { json: STAY }), 200);
        require(await world.node.asOwner('POST', '/manage/offload?wait=true'), 200);
      };
      require(await node.asOwner('PATCH', '/manage/settings', { json: { offload_after_days: 0 } }), 200);
      const answer = await node.asOwner('POST', '/manage/offload?wait=true');
      require(answer, 200);
      require(await node.asOwner('PATCH', '/manage/settings', { json: STAY }), 200);
      return answer.body.toString();
    },
  },
  bringBack: {
    weight: 1,
    isPlain: true,
    can: hasSynced,
    run: async ({ node, require, check: holds }) => {
      const answer = await node.asOwner('POST', '/manage/offload/return?wait=true');
      require(answer, 200);
      const { missing } = jsonOf<{ missing: number }>(answer);
      holds(missing === 0, `${missing} offloaded objects did not come back.`);
      return answer.body.toString();
    },
  },
  loseCopy: {
    weight: 2,
    can: (world) => inFolders(world).length > 0,
    run: async (world, dice) => {
      const { node, model } = world;
      const copy = dice.one(inFolders(world));
      const { place } = copy;
      const safe = new Set<string>();
      for (const { sha256 } of model.bytes.values())
        if (isHere(world, sha256) || (await isElsewhere(world, sha256, copy))) safe.add(sha256);
      if (place) await rm(place, { recursive: true, force: true });
      const answer = await node.asOwner('POST', `/manage/copies/${copy.id}/mark-lost?wait=true`);
      world.require(answer, 200);
      model.copies.splice(model.copies.indexOf(copy), 1);
      for (const held of model.bytes.values())
        if (held.state === 'held' && !safe.has(held.sha256)) {
          // It may still be in the cache, from which it comes back.
          const read = await node.asOwner(
            'GET',
            `${held.kind === 'blob' ? '/api/blobs' : '/archive'}/${held.sha256}`,
            {
              mayFail: [500, 503],
            },
          );
          if (read.status !== 200) held.state = 'gone';
        }
      return answer.body.toString();
    },
  },
  removeCopy: {
    weight: 1,
    isPlain: true,
    can: hasCopy,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const copy = dice.one(model.copies);
      world.attempt = async () => {
        const listed = (await world.node.asOwner('GET', '/manage/copies')).body.includes(copy.id);
        if (!listed) model.copies.splice(model.copies.indexOf(copy), 1);
      };
      const answer = await node.asOwner('DELETE', `/manage/copies/${copy.id}`);
      if (codeOf(answer) === 'copy_needed') return 'it is needed';
      require(answer, 204);
      model.copies.splice(model.copies.indexOf(copy), 1);
      return copy.id;
    },
  },
} satisfies Record<string, StepKind>;

export function blobFile({ data }: World, sha256: string): string {
  return join(data, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

export const isHere = (world: World, sha256: string) => existsSync(blobFile(world, sha256));

async function isElsewhere({ node }: World, sha256: string, lost: CopyOfArchive): Promise<boolean> {
  const answer = await node.asOwner('GET', `/manage/offload/objects/${sha256}`);
  if (answer.status !== 200) return false;
  const { copies } = jsonOf<{ copies: { copy: string }[] }>(answer);
  return copies.some(({ copy }) => copy !== lost.id);
}

/** Damages or removes a file of a copy. Returns its path. */
async function damageFile(
  world: World,
  { place = '' }: CopyOfArchive,
  dice: Dice,
): Promise<string | undefined> {
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && entry.name !== 'key.age')
    .map(({ parentPath, name }) => join(parentPath, name).slice(place.length + 1))
    .filter((path) => !['checkpoint', 'strongroom.json'].includes(path) && !path.startsWith('files/'))
    .filter((path) => !path.startsWith('archive/') || isHere(world, path.slice('archive/'.length)))
    .sort();
  const path = dice.pick(files);
  if (path === undefined) return undefined;
  const file = join(place, path);
  if (dice.chance(0.5)) await rm(file);
  else await writeFile(file, Buffer.concat([await readFile(file), Buffer.from('!')]));
  return path;
}
