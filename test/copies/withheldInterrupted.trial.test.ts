import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { withholdWithParts } from '../../server/archive/sets/withholdSet.ts';
import { openArchiveForWriting } from '../../server/collection/record/coverRetrievals.ts';
import type { CopyServices } from '../../server/copies/claim.ts';
import { claimTarget } from '../../server/copies/copyFiles.ts';
import { syncCopy } from '../../server/copies/sync.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import type { CopyTarget } from '../../server/copies/targets/target.ts';
import { copyById, insertCopy } from '../../server/store/sqlite/node/copies.ts';
import { show } from '../../server/withholding/withholding.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { putEncrypted } from './earlierCopy.ts';
import { filesWith, verified } from './withheldCopies.ts';

afterEach(closeTestNodes);

const SECRET = 'quibblesome';
const sha256 = sha256Of(SECRET);
const ID = `cp_${'0'.repeat(20)}`;
/** Only these change a copy: a sync that ends while it reads leaves what the step before it left. */
const METHODS = ['put', 'flush', 'remove', 'purge', 'forgetVersions'] as const;
class Killed extends Error {}

/** A target of which a step fails: a step is before or after what a method does. What follows fails, too. */
function failingAt(target: CopyTarget, at: number): CopyTarget {
  let steps = 0;
  const step = () => {
    steps += 1;
    if (steps >= at) throw new Killed();
  };
  const failing = { ...target };
  for (const name of METHODS) {
    const method = target[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(failing, {
      [name]: async (...args: unknown[]) => {
        step();
        const result = await method(...args);
        step();
        return result;
      },
    });
  }
  return failing;
}

/** An archive with a secret object and its copy, in this process. */
async function archive() {
  const [data, place] = [join(await temporaryFolder(), 'data'), join(await temporaryFolder(), 'copy')];
  const node = await openTestNode({ dataFolder: data });
  const { id: pack } = await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET });
  await node.close();
  const { store, checkpoints } = await openArchiveForWriting({
    folder: data,
    clock: systemClock,
    warn: () => {},
  });
  const services: CopyServices = { store, checkpoints, compare: async () => undefined };
  const address = pathToFileURL(place).href;
  const target = await openTarget({ target: address }, { isNew: true });
  const owner_token = 'f'.repeat(32);
  await claimTarget(services, owner_token, target);
  await store.write((database) =>
    insertCopy(database, {
      id: ID,
      target: address,
      endpoint: null,
      region: null,
      every_minutes: null,
      owner_token,
      added_at: store.instant(),
      pages: 1,
      public_url: null,
    }),
  );
  /** Each sync opens its target, as a process of its own does. */
  const sync = async (wrap = (opened: CopyTarget) => opened) => {
    const copy = copyById(store.read, ID);
    if (!copy) throw new Error('There is no copy.');
    const opened = await openTarget({ target: address });
    try {
      const run = { signal: new AbortController().signal, progress: () => {} };
      return await syncCopy(services, copy, wrap(opened), run);
    } finally {
      await opened.close();
    }
  };
  const close = async () => {
    await target.close();
    await store.close();
  };
  return { services, store, place, address, pack, sync, close };
}

/** Each test takes every eighth step, so that none takes minutes. */
const STRIDE = 8;
/** Every step takes six minutes: `STRONGROOM_STEPS=all npm run trials -- withheldInterrupted`. Else a few are taken. */
const STEPS = process.env['STRONGROOM_STEPS'] === 'all' ? [1, 2, 3, 4, 5, 6, 7, 8] : [1, 6];

describe.each(['withheld', 'shown again', 'encrypted by an earlier version'] as const)(
  'after something is %s',
  (change) => {
    test.each(STEPS)(
      'a sync that ends at step %i, or at every eighth after it, loses nothing, and the next one shows nothing that is withheld',
      async (first) => {
        const { services, store, place, address, pack, sync, close } = await archive();
        const here = store.blobs.fileOf(sha256);
        const encrypted = join(place, 'withheld', `${sha256}.age`);
        const isHere = async () => existsSync(here) && (await readFile(here, 'utf8')) === SECRET;
        const isClear = () => existsSync(join(place, 'archive', sha256));
        const hide = () => withholdWithParts(store, { sha256, reason: 'personal_data' });
        const unhide = () => show(store, { sha256 });
        /** What only the copy has: in the clear of what is withheld then, or encrypted. */
        const make = async () => {
          if (change === 'shown again') return unhide();
          if (change === 'withheld') await hide();
          else await putEncrypted(services, { target: address }, SECRET);
          return rm(here);
        };
        const undo = async () => {
          if (change === 'shown again') await hide();
          if (change === 'withheld') await unhide();
        };
        const expected = change === 'shown again' ? [`archive/${sha256}`] : [];
        try {
          await sync();
          if (change !== 'withheld') await hide().then(() => sync());
          for (let at = first; ; at += STRIDE) {
            await make();
            const isWhole = await sync((opened) => failingAt(opened, at)).then(
              () => true,
              (error: unknown) => {
                if (!(error instanceof Killed)) throw error;
                return false;
              },
            );
            const when = `step ${at}`;
            expect((await isHere()) || isClear() || existsSync(encrypted), when).toBe(true);
            if (change === 'encrypted by an earlier version') expect(isClear(), when).toBe(false);
            const found = await verified(place);
            expect(found, when).toMatchObject({ damaged: [], missing: [], extra: [] });
            // Until it is removed, what is withheld is there in the clear, and nothing else is wrong.
            if (!found.ok) expect(found.exposed, when).toEqual([`archive/${sha256}`]);
            if (!found.ok) expect([change, isWhole], when).toEqual(['withheld', false]);
            if (!isWhole) await sync();
            expect(await filesWith(place, SECRET), when).toEqual(expected);
            expect(await isHere(), when).toBe(true);
            expect(existsSync(encrypted), when).toBe(false);
            expect(await verified(place), when).toMatchObject({ ok: true });
            const html = await readFile(join(place, 'packs', `${pack}.html`), 'utf8');
            expect(html.includes('Withheld since'), when).toBe(change !== 'shown again');
            if (isWhole) return expect(at).toBeGreaterThan(20);
            await undo();
            await sync();
          }
        } finally {
          await close();
        }
      },
    );
  },
);
