import type { Pack } from '../../../shared/archive/pack.ts';
import type { SetManifest } from '../../../shared/archive/set.ts';
import type { MirrorResult } from '../../../shared/node/peer.ts';
import { WITHHELD_REASONS } from '../../../shared/node/withheld.ts';
import { type Client, codeOf, jsonOf, textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy } from '../invariants.ts';
import { digestOf, type Held, type Model } from '../model.ts';
import { PACK_BYTES, type World } from '../world.ts';
import { noteWithholdings } from './collection.ts';
import { formOf, type NewFile, newFiles, newRecord, notePack } from './packs.ts';
import { newText, type StepKind } from './step.ts';
import { settle } from './withholding.ts';

/** Makes one node a peer of another one, unless it is already. Returns its id there. */
export async function peerOf(world: World, node: Client, other: Client): Promise<string> {
  const listed = jsonOf<{ items: { id: string; url: string }[] }>(await node.asOwner('GET', '/manage/peers'));
  const key = (await other.asVisitor('/api/ledger/key')).body.toString().trim();
  const known = (listed.items as { id: string; url: string; key: string }[]).find((peer) => peer.key === key);
  // Each start of a node is at another port.
  if (known) {
    if (known.url !== other.url)
      world.require(
        await node.asOwner('PATCH', `/manage/peers/${known.id}`, { json: { url: other.url } }),
        200,
      );
    return known.id;
  }
  for (const { id } of listed.items) await node.asOwner('DELETE', `/manage/peers/${id}`);
  const add = (more: object) => node.asOwner('POST', '/manage/peers', { json: { url: other.url, ...more } });
  let answer = await add({});
  // An archive that goes on with a new key is another log for who cosigned it.
  if (codeOf(answer) === 'key_mismatch') answer = await add({ cosign: false });
  world.require(answer, 201);
  return jsonOf<{ id: string }>(answer).id;
}

export async function mirror(
  world: World,
  node: Client,
  id: string,
  packs: true | { q: string } = true,
): Promise<MirrorResult> {
  const json = { packs, sources: true };
  const answer = await node.asOwner('POST', `/manage/peers/${id}/mirror?wait=true`, { json });
  world.require(answer, 200);
  return jsonOf<MirrorResult>(answer);
}

/** What a mirror brought or withheld must concern only what came from the peer. */
export async function noteMirrored(world: World): Promise<void> {
  const { model, node, check } = world;
  for (const { files } of model.peerPacks)
    for (const { content, markers } of files) {
      const sha256 = digestOf(content);
      const read = await node.asOwner('GET', `/api/blobs/${sha256}`, { mayFail: [500, 503] });
      if (read.status !== 200 || model.bytes.get(sha256)?.state === 'released') continue;
      check(read.body.equals(content), `A mirror brought other bytes of ${sha256}.`);
      model.hold(content, 'blob', markers, true);
    }
  const answer = await node.asVisitor('/api/withheld?limit=500');
  const { items } = jsonOf<{ items: { ledger_entry: number }[] }>(answer);
  const inForce = new Set(items.map(({ ledger_entry }) => ledger_entry));
  const isTheirs = (sha256: string) => model.bytes.get(sha256)?.isTheirs ?? true;
  const known = new Set(model.withholdings.keys());
  for (const entry of inForce) {
    if (model.withholdings.has(entry)) continue;
    for (const sha256 of await coveredBy(node, entry))
      check(isTheirs(sha256), `A mirror withheld ${sha256}, which this archive has from elsewhere.`);
  }
  for (const [entry, { covers }] of model.withholdings) {
    if (inForce.has(entry)) continue;
    check([...covers].every(isTheirs), `A mirror ended the withholding ${entry} of this archive.`);
    model.withholdings.delete(entry);
  }
  // With a set, the parts of a file that is withheld are known, and they are withheld with it.
  for (const withholding of model.withholdings.values())
    withholding.covers = withholding.covers.union(await coveredBy(node, withholding.entry));
  await noteWithholdings(world, node);
  for (const entry of inForce) {
    const made = known.has(entry) ? undefined : model.withholdings.get(entry);
    if (made) made.isOfPeer = true;
  }
}

/**
 * The word of the peer ends for bytes that came from elsewhere, and each of the others that it covers is withheld by itself. Of
 * a step that was interrupted, nobody knows whether it brought bytes.
 */
export async function noteEndedWords(world: World, wasInterrupted: boolean): Promise<void> {
  const { model, node, check } = world;
  const isTheirs = (sha256: string) => model.bytes.get(sha256)?.isTheirs ?? true;
  const mayHaveEnded = [...model.withholdings.values()].filter(
    ({ isOfPeer, covers }) => isOfPeer && (wasInterrupted || ![...covers].every(isTheirs)),
  );
  if (mayHaveEnded.length === 0) return;
  const answer = await node.asVisitor('/api/withheld?limit=500');
  const { items } = jsonOf<{ items: { ledger_entry: number }[] }>(answer);
  const inForce = new Set(items.map(({ ledger_entry }) => ledger_entry));
  const ended = mayHaveEnded.filter(({ entry }) => !inForce.has(entry));
  for (const { entry } of ended) model.withholdings.delete(entry);
  const known = new Set(model.withholdings.keys());
  await noteWithholdings(world, node);
  for (const sha256 of ended.flatMap(({ covers }) => [...covers])) {
    const held = model.bytes.get(sha256);
    if (held?.state !== 'held' || model.isWithheld(sha256)) continue;
    if (wasInterrupted) held.isTheirs = false;
    else check(!model.areTheirs(sha256), `${sha256} came from the peer alone, and its word ended for it.`);
  }
  for (const [entry, made] of model.withholdings) if (!known.has(entry)) made.isOfPeer = true;
}

/**
 * Requires that visitors cannot read here what came from the peer alone and what the peer does not show its own visitors,
 * unless the owner of this node has shown it.
 */
async function requireFollowed({ model, node, check }: World, peer: Client): Promise<void> {
  const theirs = new Set(
    model.peerPacks.flatMap(({ files }) => files.map(({ content }) => digestOf(content))),
  );
  for (const sha256 of theirs) {
    const held = model.bytes.get(sha256);
    if (held?.state !== 'held' || !model.areTheirs(sha256) || model.shownByOwner.has(sha256)) continue;
    const there = await peer.asVisitor(`/api/blobs/${sha256}`);
    if (there.status !== 451) continue;
    const here = await node.asVisitor(`/api/blobs/${sha256}`, { mayFail: [500, 503] });
    check(here.status !== 200, `The peer alone gave ${sha256} and withholds it, and visitors get it here.`);
  }
}

/** A file of an earlier pack of the peer, to be published again. */
const publishedBefore = ({ model }: World, dice: Dice): NewFile[] =>
  dice
    .some(
      model.peerPacks.flatMap(({ files }) => files),
      1,
    )
    .map((file) => ({ ...file, path: 'again.bin' }));

/** Notes the packs of which a set of the peer is made, and its list. */
async function notePeerSet(world: World, peer: Client, set: Pack, files: readonly NewFile[]): Promise<void> {
  const { model } = world;
  const manifest = await peer.asOwner('GET', `/api/blobs/${set.files[0]?.sha256}`);
  world.require(manifest, 200);
  const list = { path: 'set.json', content: manifest.body, markers: [] };
  model.peerPacks.push({ id: set.id, title: set.title, files: [list] });
  model.peerLists.add(digestOf(manifest.body));
  for (const { path, sha256, parts } of jsonOf<SetManifest>(manifest).files) {
    const { content: whole, markers = [] } = files.find((file) => file.path === path) ?? {};
    let at = 0;
    for (const { pack, bytes, path: name } of parts) {
      const content = Buffer.from(whole?.subarray(at, (at += bytes)) ?? []);
      const piece = { path: name, content, markers: markers.filter((marker) => content.includes(marker)) };
      model.peerPacks.push({ id: pack, title: set.title, files: [piece] });
      if (parts.length > 1) model.joined.push([sha256, digestOf(content)]);
    }
  }
}

/** What visitors may read here that did not come from the peer, and that no set has in parts. */
function oursAlone(model: Model): Held[] {
  const joined = new Set([...model.joined.flat(), ...model.sets.flatMap(({ parts }) => [...parts].flat(2))]);
  return model
    .visible()
    .filter(
      ({ kind, isTheirs, sha256, content }) =>
        kind === 'blob' &&
        !isTheirs &&
        content.length > 0 &&
        content.length < PACK_BYTES &&
        !joined.has(sha256),
    );
}

/** Returns a file that is published in parts. */
function newLargeFile(dice: Dice): Required<NewFile> {
  const { bytes, marker } = newText(dice);
  const size = dice.between(PACK_BYTES + 1, 3 * PACK_BYTES);
  const content = Buffer.concat([bytes, Buffer.alloc(size, dice.letters(7))]);
  return { path: 'large.bin', content, markers: [marker] };
}

/** The peer publishes files as a set. Returns its id. */
async function publishSet(world: World, dice: Dice, files: readonly NewFile[]): Promise<string> {
  const peer = await world.withPeer();
  const created = await peer.asOwner('POST', '/manage/drafts', { json: { record: newRecord(dice) } });
  world.require(created, 201);
  const draft = `/manage/drafts/${jsonOf<{ id: string }>(created).id}`;
  const headers = { 'Content-Type': 'application/octet-stream' };
  for (const { path, content } of files) {
    const sending = { body: new Uint8Array(content), headers };
    world.require(await peer.asOwner('PUT', `${draft}/files?path=${path}`, sending), 200);
  }
  const published = await peer.asOwner('POST', `${draft}/publish`);
  world.require(published, 201);
  const set = jsonOf<Pack>(published);
  await notePeerSet(world, peer, set, files);
  return set.id;
}

export const peerSteps = {
  peerPublishes: {
    weight: 3,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      // Some of it may be what this archive has too.
      const known = dice.chance(0.3) ? dice.some(world.model.visible(), 1) : [];
      const files = [
        ...newFiles(dice),
        ...known.map(({ content, markers }) => ({ path: 'known.txt', content, markers })),
        ...(dice.chance(0.4) ? publishedBefore(world, dice) : []),
      ];
      const answer = await peer.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
      world.require(answer, 201);
      const { id, title } = jsonOf<Pack>(answer);
      world.model.peerPacks.push({ id, title, files });
      return id;
    },
  },
  /** A set of the peer may have what other packs of it have, whole or in pieces. */
  peerPublishesSet: {
    weight: 2,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const large = newLargeFile(dice);
      if (dice.chance(0.5)) {
        const answer = await peer.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), [large]) });
        world.require(answer, 201);
        const { id, title } = jsonOf<Pack>(answer);
        world.model.peerPacks.push({ id, title, files: [large] });
      }
      return publishSet(world, dice, [large, ...(dice.chance(0.5) ? publishedBefore(world, dice) : [])]);
    },
  },
  /** The peer publishes in parts a file that is withheld or was released here. Its parts are withheld or refused. */
  mirrorSetOfHidden: {
    weight: 2,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const large = newLargeFile(dice);
      const sha256 = digestOf(large.content);
      const sent = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), [large]) });
      require(sent, 201);
      notePack(world, sent, [large]);
      const isReleased = dice.chance(0.5);
      const json = { sha256, reason: dice.one(WITHHELD_REASONS) };
      require(await node.asOwner('POST', `/manage/${isReleased ? 'released' : 'withheld'}`, { json }), 201);
      if (isReleased) model.hold(large.content, 'blob', large.markers).state = 'released';
      await settle(world);
      const set = await publishSet(world, dice, [large]);
      const { refused } = await mirror(world, node, await peerOf(world, node, await world.withPeer()));
      await noteMirrored(world);
      world.check(
        !isReleased || refused.some(({ reason }) => reason === 'released'),
        () => `A set with the released ${sha256} was mirrored: ${JSON.stringify(refused)}`,
      );
      for (const [, part] of model.joined.filter(([whole]) => whole === sha256))
        require(await node.asVisitor(`/api/blobs/${part}`), isReleased ? 404 : 451);
      return `${set}: ${isReleased ? 'released' : 'withheld'}`;
    },
  },
  /** The peer publishes a set with a file that consists of two files of this archive. It does not tie them. */
  peerJoinsOurs: {
    weight: 2,
    can: ({ model }) => oursAlone(model).length > 1,
    run: async (world, dice) => {
      const { node, model, require, check } = world;
      const peer = await world.withPeer();
      const ours = dice.some(oursAlone(model), 2);
      const content = Buffer.concat(ours.map((held) => held.content));
      const send = async (name: string, bytes: Buffer, markers: readonly string[]): Promise<Pack> => {
        const files = [{ path: name, content: bytes, markers }];
        const answer = await peer.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
        require(answer, 201);
        const { id, title } = jsonOf<Pack>(answer);
        model.peerPacks.push({ id, title, files });
        return jsonOf<Pack>(answer);
      };
      const parts = [];
      for (const { sha256, content: bytes, markers } of ours) {
        const { id } = await send('piece', bytes, markers);
        parts.push({ pack: id, path: 'piece', bytes: bytes.length, sha256 });
      }
      const file = { path: 'joined.bin', bytes: content.length, sha256: digestOf(content), parts };
      const list = Buffer.from(JSON.stringify({ format: 'strongroom-set@1', files: [file] }));
      model.peerLists.add(digestOf(list));
      const { id } = await send('set.json', list, []);
      await mirror(world, node, await peerOf(world, node, peer));
      await noteMirrored(world);
      const [hidden, other] = ours.map(({ sha256 }) => sha256);
      const json = { sha256: hidden, reason: 'legal_order' };
      require(await node.asOwner('POST', '/manage/withheld', { json }), 201);
      const { status } = await node.asVisitor(`/api/blobs/${other}`);
      check(
        status === 200,
        () => `${other} is withheld with ${hidden}, because of a set of the peer: ${status}`,
      );
      require(await node.asOwner('DELETE', '/manage/withheld', { json: { sha256: hidden } }), 200);
      await settle(world);
      return id;
    },
  },
  /** Who names a digest need not have the bytes, so the peer still decides over them. */
  nameTheirBytes: {
    weight: 2,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const { content } = dice.one(dice.one(world.model.peerPacks).files);
      const sha256 = digestOf(content);
      const files = [
        { path: 'named.bin', sha256, bytes: content.length, media_type: 'application/octet-stream' },
      ];
      const answer = await world.node.asOwner('POST', '/api/packs', { json: newRecord(dice, { files }) });
      // It may be given up, damaged or not here.
      world.require(answer, 201, 410, 422);
      return `${sha256}: ${answer.status}`;
    },
  },
  peerWithholds: {
    weight: 4,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const { id: pack, files } = dice.one(world.model.peerPacks);
      const target = dice.chance(0.5) ? { pack } : { sha256: digestOf(dice.one(files).content) };
      if (dice.chance(0.4)) {
        world.require(await peer.asOwner('DELETE', '/manage/withheld', { json: target }), 200, 404);
        return `shows ${JSON.stringify(target)}`;
      }
      const json = { ...target, reason: dice.one(['copyright', 'owner']) };
      world.require(await peer.asOwner('POST', '/manage/withheld', { json }), 200, 201, 422);
      return `withholds ${JSON.stringify(target)}`;
    },
  },
  mirrorPeer: {
    weight: 3,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const packs = dice.chance(0.4) ? { q: dice.one(world.model.peerPacks).title } : true;
      const result = await mirror(world, world.node, await peerOf(world, world.node, peer), packs);
      await noteMirrored(world);
      if (result.refused.length === 0 && !result.limits) await requireFollowed(world, peer);
      return `${result.packs} packs, ${result.objects} objects, refused ${JSON.stringify(result.refused)}`;
    },
  },
  /** The network to the peer is lost. */
  mirrorLostPeer: {
    weight: 1,
    can: ({ model, peer }) => peer !== undefined && model.peerPacks.length > 0,
    run: async (world) => {
      const id = await peerOf(world, world.node, await world.withPeer());
      await world.losePeer();
      const json = { packs: true, sources: true };
      const path = `/manage/peers/${id}/mirror?wait=true`;
      const answer = await world.node.asOwner('POST', path, { json, mayFail: [502, 503] });
      world.require(answer, 502, 503);
      await noteMirrored(world);
      return textOf(answer).slice(0, 150);
    },
  },
  /** The owner takes or leaves what the peer withholds and this archive has otherwise. */
  decideProposals: {
    weight: 2,
    can: ({ model, peer }) => peer !== undefined && model.peerPacks.length > 0,
    run: async (world, dice) => {
      const { node, require } = world;
      const id = await peerOf(world, node, await world.withPeer());
      const listed = await node.asOwner('GET', `/manage/peers/${id}/proposals`);
      require(listed, 200);
      const { items } = jsonOf<{ items: { number: number }[] }>(listed);
      for (const { number } of items) {
        const json = { decision: dice.one(['take', 'leave']) };
        require(await node.asOwner('POST', `/manage/peers/${id}/proposals/${number}`, {
          json,
        }), 200, 410, 422);
      }
      // The owner has chosen, so this is the standing from here on.
      await settle(world);
      return `${items.length} proposals`;
    },
  },
  mirroredByPeer: {
    weight: 3,
    can: ({ model }) => model.packs.length > 0,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const { model } = world;
      const result = await mirror(world, peer, await peerOf(world, peer, world.node));
      for (const { sha256 } of model.visible()) model.givenAway.add(sha256);
      await requireNothingHidden(world, peer, dice);
      return `${result.packs} packs, ${result.objects} objects, refused ${JSON.stringify(result.refused)}`;
    },
  },
} satisfies Record<string, StepKind>;

/** What was hidden at every mirror is not at the peer, whose owner reads everything there. */
async function requireNothingHidden({ model, check }: World, peer: Client, dice: Dice): Promise<void> {
  const own = new Set(model.peerPacks.flatMap(({ files }) => files.map(({ content }) => digestOf(content))));
  // What came from the peer alone, it may have, also if it was released here.
  const hidden = [...model.bytes.values()].filter(
    ({ sha256, state, isTheirs }) =>
      state !== 'gone' && !isTheirs && !model.givenAway.has(sha256) && !own.has(sha256),
  );
  for (const { sha256, kind } of dice.some(hidden, 10)) {
    const read = await peer.asOwner('GET', `${kind === 'blob' ? '/api/blobs' : '/archive'}/${sha256}`);
    check(read.status !== 200, `The peer got ${sha256}, which visitors may not read.`);
  }
}
