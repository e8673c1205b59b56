import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { PageCapture } from '../../../shared/collection/page.ts';
import type { WithheldState } from '../../../shared/node/withheld.ts';
import { CC_BY } from '../../support/network/repositoryRecords.ts';
import { breakAfter, RepositoryServer, sendWhole } from '../../support/network/repositoryServer.ts';
import { page } from '../../support/network/scriptedWeb.ts';
import { jsonOf } from '../client.ts';
import { comesTrue, noteReleasedForAge } from '../invariants.ts';
import { digestOf } from '../model.ts';
import type { World } from '../world.ts';
import { noteEvents, noteWithholdings } from './collection.ts';
import { newRecord, notePack } from './packs.ts';
import { mirror, noteMirrored, peerOf } from './peers.ts';
import { handInSaved } from './quoting.ts';
import { newPage, newText, type StepKind } from './step.ts';

/*
 * Bytes that are withheld or were given up come again by another way: within others, in pieces, or from a peer.
 */

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const DAY_MS = 86_400_000;

/** Checks a source, and notes what came of it. */
async function check(world: World, source: string): Promise<void> {
  const json = { sources: [source] };
  const checked = await world.node.asOwner('POST', '/manage/collections?wait=true', { json });
  world.require(checked, 200);
  await noteEvents(world, jsonOf<CollectionResult>(checked).events);
}

async function withhold(world: World, sha256: string): Promise<void> {
  const json = { sha256, reason: 'personal_data' };
  world.require(await world.node.asOwner('POST', '/manage/withheld', { json }), 201);
  await noteWithholdings(world, world.node);
}

export const comingAgainSteps = {
  /** A version is withheld, and then given up for its age. What is handed in with it is withheld. */
  handInAged: {
    weight: 1,
    run: async (world, dice) => {
      const { web, node, model, served, require, clock } = world;
      const path = `/aging-${dice.letters(5)}`;
      const [content, later] = [newPage(dice), newPage(dice)];
      served.set(path, [content, later]);
      web.script(path, page(content.bytes, HTML), page(later.bytes, HTML));
      const added = await node.asOwner('POST', '/manage/sources', {
        json: { url: web.url(path), keep_days: 1 },
      });
      require(added, 201);
      const { id, url } = jsonOf<{ id: string; url: string }>(added);
      model.sources.push({ id, url, path });
      await check(world, id);
      const sha256 = digestOf(content.bytes);
      await withhold(world, sha256);
      await check(world, id);
      clock.move(2 * DAY_MS);
      await check(world, id);
      const isGivenUp = await comesTrue(async () => {
        const state = await node.asOwner('GET', `/api/withheld/state?sha256=${sha256}`);
        return jsonOf<WithheldState>(state).released?.reason === 'age';
      });
      world.check(isGivenUp, `${sha256} was not given up.`);
      await noteReleasedForAge(world, node);
      const markers = [content.marker];
      return handInSaved(world, dice, content.bytes, { markers, isDocument: dice.chance(0.5) });
    },
  },
  /** A file of a repository breaks off once, and its rest is asked for. It is withheld with all of its bytes. */
  importInPieces: {
    weight: 1,
    run: async (world, dice) => {
      const { node, require } = world;
      const { bytes, marker } = newText(dice);
      const repository = await RepositoryServer.open('invenio');
      try {
        const change = (json: object) => node.asOwner('PATCH', '/manage/settings', { json });
        require(await change({ doi_resolver: repository.resolver, retry_delays_seconds: [0] }), 200);
        const steps = [breakAfter(dice.between(1, bytes.length - 1)), sendWhole];
        const id = dice.letters(6);
        const { doi } = repository.add({
          id,
          title: 'Imported',
          doi: `10.5072/${id}`,
          license: CC_BY,
          files: [{ name: 'data.csv', bytes, steps }],
        });
        const imported = await node.asOwner('POST', '/manage/import?wait=true', { json: { doi } });
        require(imported, 201);
        require(await change({ retry_delays_seconds: [] }), 200);
        const draft = `/manage/drafts/${jsonOf<{ draft: string }>(imported).draft}`;
        require(await node.asOwner('PATCH', draft, { json: { record: newRecord(dice) } }), 200);
        const published = await node.asOwner('POST', `${draft}/publish`);
        require(published, 201);
        notePack(world, published, [{ path: 'data.csv', content: bytes, markers: [marker] }]);
      } finally {
        await repository.close();
      }
      await withhold(world, digestOf(bytes));
      return digestOf(bytes);
    },
  },
  /** A peer captures a page again whose document this archive gave up. Starts browsers. */
  mirrorReleasedPage: {
    weight: 1,
    can: ({ hasBrowser, model }) => hasBrowser && model.pages.length < 3,
    run: async (world, dice) => {
      const { web, node, model, require, check: requireThat } = world;
      const path = `/peer-${dice.letters(5)}`;
      const { bytes, marker } = newPage(dice);
      web.script(path, page(bytes, HTML));
      const peer = await world.withPeer();
      const capture = async () => {
        const answer = await peer.asOwner('POST', '/manage/pages', { json: { url: web.url(path) } });
        require(answer, 201);
        return jsonOf<{ id: string }>(answer).id;
      };
      const mirrorAgain = async () => {
        const result = await mirror(world, node, await peerOf(world, node, peer));
        await noteMirrored(world);
        return result;
      };
      const first = await capture();
      await mirrorAgain();
      const drawn = jsonOf<PageCapture>(await node.asVisitor(`/archive/pages/${first}`));
      for (const sha256 of [digestOf(bytes), drawn.text, drawn.document, drawn.picture]) {
        const read = await node.asOwner('GET', `/archive/${sha256}`);
        require(read, 200);
        const held = model.hold(read.body, 'object', sha256 === drawn.picture ? [] : [marker], true);
        const json = { sha256, reason: 'legal_order' };
        require(await node.asOwner('POST', '/manage/released', { json }), 201);
        held.state = 'released';
      }
      const second = await capture();
      const { refused } = await mirrorAgain();
      requireThat(
        refused.some(({ reason }) => reason === 'released'),
        () => `A page of released bytes was mirrored: ${JSON.stringify(refused)}`,
      );
      require(await node.asVisitor(`/archive/pages/${second}`), 404);
      return `${first}, not ${second}`;
    },
  },
} satisfies Record<string, StepKind>;
