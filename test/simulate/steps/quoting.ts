import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import { page } from '../../support/network/scriptedWeb.ts';
import { savedPage } from '../../support/savedPages.ts';
import { response } from '../../support/warcFiles.ts';
import { type Answer, jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy } from '../invariants.ts';
import { newMarker } from '../markers.ts';
import { digestOf, type Held } from '../model.ts';
import { PACK_BYTES, type World } from '../world.ts';
import { capturedPage } from './browser.ts';
import { noteEvents, noteHandIn, noteWithholdings } from './collection.ts';
import { formOf, newRecord, notePack, publishNow } from './packs.ts';
import { newText, type StepKind } from './step.ts';

/*
 * Something new is recorded of bytes that are withheld at that time. No record may quote them, and what has the same bytes
 * in it is withheld with them.
 */

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };

/** A page whose title has a marker. Its name, or why it has a label, would quote it. */
function titledPage(dice: Dice): { bytes: Buffer; marker: string } {
  const { bytes, marker } = newText(dice);
  const title = `${dice.one(['About', '404 Not Found -', 'Error'])} ${marker}`;
  const html = `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>${bytes.toString().trim()}</p><a href="/${dice.letters(5)}">To ${marker}</a></body></html>`;
  return { bytes: Buffer.from(html), marker };
}

/** Publishes a file in a pack, and withholds it. */
async function withheldFile(
  world: World,
  dice: Dice,
  file: { bytes: Buffer; marker: string },
): Promise<Held> {
  const { node, model, require } = world;
  const files = [{ path: 'page.html', content: file.bytes, markers: [file.marker] }];
  const answer = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
  require(answer, 201);
  const pack = notePack(world, answer, files);
  const sha256 = digestOf(file.bytes);
  const target = dice.chance(0.5) ? { pack: pack.id } : { sha256 };
  const json = { ...target, reason: dice.one(['personal_data', 'legal_order']) };
  require(await node.asOwner('POST', '/manage/withheld', { json }), 201);
  await noteWithholdings(world, node);
  const held = model.bytes.get(sha256);
  model.titles.add(file.marker);
  if (!held) throw new TypeError('The model does not know what was just published.');
  return held;
}

/** Learns what withholdings cover now, and requires that these bytes are withheld. */
async function requireHidden(world: World, digests: readonly (string | null | undefined)[]): Promise<void> {
  const { model, node, check } = world;
  for (const { entry, covers } of model.withholdings.values())
    for (const sha256 of await coveredBy(node, entry)) covers.add(sha256);
  for (const sha256 of digests)
    check(
      typeof sha256 === 'string' && model.isWithheld(sha256),
      `${sha256} came with bytes that are withheld, and is shown.`,
    );
}

const digestsOf = ({ file, document, parts, picture }: HandIn) => ({
  whole: [file.sha256, picture?.sha256].filter((sha256) => sha256 !== undefined),
  all: [file.sha256, document, ...parts.map(({ sha256 }) => sha256)],
});

function sendHandIn({ node }: World, type: string, file: Buffer, url: string): Promise<Answer> {
  const said = new URLSearchParams({ withheld: 'false', url });
  return node.asOwner('POST', `/manage/handed-in?${said.toString()}`, {
    body: new Uint8Array(file),
    headers: { 'Content-Type': type },
  });
}

async function handIn(world: World, type: string, file: Buffer, url: string): Promise<HandIn> {
  const answer = await sendHandIn(world, type, file, url);
  world.require(answer, 201);
  return jsonOf<HandIn>(answer);
}

/** The ways in which bytes come again. Each returns what it did. */
const AGAIN: Record<string, (world: World, dice: Dice, held: Held) => Promise<string>> = {
  /** Its source has no name, so it would be named after the page. */
  async watch(world, dice, { content }) {
    const { web, node, model, require, served } = world;
    const path = `/quoting-${dice.letters(5)}`;
    served.set(path, [{ bytes: content, marker: '' }]);
    web.script(path, page(content, HTML));
    const url = web.url(path);
    const added = await node.asOwner('POST', '/manage/sources/import', {
      body: `url\n${url}\n`,
      headers: { 'Content-Type': 'text/csv' },
    });
    require(added, 200);
    const sources = jsonOf<{ items: { id: string; url: string }[] }>(
      await node.asVisitor('/api/sources?limit=500'),
    ).items;
    const source = sources.find((each) => each.url === url);
    world.check(source !== undefined, `${url} was not added: ${added.body.toString()}`);
    const id = source?.id ?? '';
    model.sources.push({ id, url, path });
    const checked = await node.asOwner('POST', '/manage/collections?wait=true', { json: { sources: [id] } });
    require(checked, 200);
    await noteEvents(world, jsonOf<CollectionResult>(checked).events);
    return id;
  },
  async captureOfOthers(world, dice, { content }) {
    const uri = `http://quoted.example/${dice.letters(3)}`;
    const answer = await world.node.asOwner('POST', '/manage/captures?observer=Other0', {
      body: new Uint8Array(response(content, { uri, date: '2020-01-01T12:00:00Z' })),
      headers: { 'Content-Type': 'application/warc' },
    });
    world.require(answer, 200);
    if (!world.model.captured.includes(uri)) world.model.captured.push(uri);
    await noteEvents(world, jsonOf<CollectionResult>(answer).events);
    return uri;
  },
  async pack(world, dice, { content, markers }) {
    const own = newText(dice);
    const files = [
      { path: 'again.html', content, markers },
      { path: 'own.txt', content: own.bytes, markers: [own.marker] },
    ];
    const answer = await world.node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
    world.require(answer, 201);
    return notePack(world, answer, files).id;
  },
  async handedInFile(world, dice, { content }) {
    const handed = await handIn(world, 'text/html', content, `http://quoted.example/${dice.letters(3)}`);
    await noteHandIn(world, handed, { file: content, parts: [], markers: [] });
    return handed.id;
  },
  async handedInDocument(world, dice, { content, markers }) {
    return handInSaved(world, dice, content, { markers, isDocument: true });
  },
  async handedInPart(world, dice, { content, markers }) {
    return handInSaved(world, dice, content, { markers, isDocument: false });
  },
  /** The page that is drawn has the words in its title, its text and its document. */
  async drawnPage(world, dice, { content, markers }) {
    if (!world.hasBrowser || world.model.pages.length >= 4) return 'no page';
    const id = await capturedPage(world, dice, { bytes: content, marker: markers[0] ?? '' });
    await requireHidden(world, world.model.pages.find((each) => each.id === id)?.covers ?? []);
    return id;
  },
};

/** A saved page that has the bytes as its document or as a part, and another part. */
function savedWith(dice: Dice, content: Buffer, isDocument: boolean) {
  const url = `http://quoted.example/${dice.letters(4)}`;
  const own = newText(dice);
  // The name of a part in its media type is in the file only.
  const name = newMarker(dice);
  const document = isDocument ? content : Buffer.from(`<html><body>${newMarker(dice)}</body></html>`);
  const part = { type: 'text/html', location: `${url}/frame`, content };
  const file = savedPage(
    url,
    [
      { type: 'text/html', location: url, content: document },
      ...(isDocument ? [] : [part]),
      { type: `text/plain; name="${name}.txt"`, location: `${url}/own`, content: own.bytes },
    ],
    `----MultipartBoundary--${dice.letters(16)}----`,
  );
  return { url, own, name, document, file };
}

/** Hands in such a page. */
export async function handInSaved(
  world: World,
  dice: Dice,
  content: Buffer,
  { markers, isDocument }: { markers: readonly string[]; isDocument: boolean },
): Promise<string> {
  const { url, own, name, document, file } = savedWith(dice, content, isDocument);
  const handed = await handIn(world, 'multipart/related', file, url);
  const { whole, all } = digestsOf(handed);
  await requireHidden(world, isDocument ? all : whole);
  const parts = [{ bytes: document, marker: '' }, own].filter(({ bytes }) => !bytes.equals(content));
  await noteHandIn(world, handed, { file, parts, markers: [...markers, name] });
  return handed.id;
}

/** Publishes a set that has a file in other pieces than those that this node makes. Returns the digests of the pieces. */
async function publishInOtherPieces(
  world: World,
  dice: Dice,
  { content, markers }: Pick<Held, 'content' | 'markers'>,
): Promise<string[]> {
  const { node, model, require } = world;
  const parts = [];
  const size = Math.ceil(content.length / dice.between(4, 7));
  for (let start = 0; start < content.length; start += size) {
    const piece = content.subarray(start, start + size);
    const found = markers.filter((marker) => piece.includes(marker));
    const files = [{ path: 'piece.bin', content: piece, markers: found }];
    const answer = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
    require(answer, 201);
    const { id } = notePack(world, answer, files);
    parts.push({ pack: id, path: 'piece.bin', bytes: piece.length, sha256: digestOf(piece) });
  }
  const file = { path: 'data/other.bin', bytes: content.length, sha256: digestOf(content), parts };
  const list = Buffer.from(JSON.stringify({ format: 'strongroom-set@1', files: [file] }));
  const files = [{ path: 'set.json', content: list, markers: [] }];
  const answer = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
  require(answer, 201);
  const { id } = notePack(world, answer, files);
  const pieces = parts.map(({ sha256 }) => sha256);
  model.sets.push({
    id,
    files: new Map([[file.path, content]]),
    parts: new Map([[file.path, pieces]]),
    packs: new Set(parts.map(({ pack }) => pack)),
    list: digestOf(list),
  });
  return pieces;
}

export const quotingSteps = {
  recordWithheld: {
    weight: 6,
    run: async (world, dice) => {
      const held = await withheldFile(world, dice, titledPage(dice));
      const done: string[] = [];
      for (const [name, record] of dice.some(Object.entries(AGAIN), dice.between(1, 3)))
        done.push(`${name} ${await record(world, dice, held)}`);
      await requireHidden(world, [held.sha256]);
      return `${held.sha256}: ${done.join(', ')}`;
    },
  },
  /** A set has a file in parts that is withheld as it is. */
  publishWithheldInParts: {
    weight: 2,
    run: async (world, dice) => {
      const [{ bytes, marker }, last] = [newText(dice), newMarker(dice)];
      const content = Buffer.concat([
        bytes,
        Buffer.alloc(dice.between(PACK_BYTES, 3 * PACK_BYTES), dice.letters(7)),
        Buffer.from(` ${last}`),
      ]);
      const held = await withheldFile(world, dice, { bytes: content, marker });
      held.markers = [marker, last];
      const id = await publishNow(world, newRecord(dice), [
        { path: 'data/large.bin', content, markers: [marker, last] },
      ]);
      const set = world.model.sets.find((each) => each.id === id);
      const pieces = set?.parts.get('data/large.bin') ?? [];
      const others = dice.chance(0.5) ? await publishInOtherPieces(world, dice, held) : [];
      await requireHidden(world, [held.sha256, ...pieces, ...others]);
      return `${id}, ${held.sha256}, in ${pieces.length} and ${others.length} pieces`;
    },
  },
  /** Two sets have a file, each in its own pieces. What names one of the pieces hides all. */
  withholdInOtherPieces: {
    weight: 1,
    run: async (world, dice) => {
      const [{ bytes, marker }, last] = [newText(dice), newMarker(dice)];
      const filling = Buffer.alloc(2 * PACK_BYTES, dice.letters(7));
      const content = Buffer.concat([bytes, filling, Buffer.from(` ${last}`)]);
      const markers = [marker, last];
      const id = await publishNow(world, newRecord(dice), [{ path: 'data/large.bin', content, markers }]);
      const set = world.model.sets.find((each) => each.id === id);
      const pieces = set?.parts.get('data/large.bin') ?? [];
      const first = dice.chance(0.5) ? await publishInOtherPieces(world, dice, { content, markers }) : [];
      const json = { sha256: dice.one([...pieces, ...first]), reason: 'copyright' };
      world.require(await world.node.asOwner('POST', '/manage/withheld', { json }), 201);
      await noteWithholdings(world, world.node);
      const then = await publishInOtherPieces(world, dice, { content, markers });
      await requireHidden(world, [...pieces, ...first, ...then]);
      return `${id}, in ${pieces.length}, ${first.length} and ${then.length} pieces`;
    },
  },
  /** One document is handed in in several files, of which one is withheld. */
  withholdHandedInFile: {
    weight: 1,
    run: async (world, dice) => {
      const { bytes, marker } = titledPage(dice);
      world.model.titles.add(marker);
      const files: string[] = [];
      const handInAgain = async () => {
        const { url, own, name, file } = savedWith(dice, bytes, true);
        const handed = await handIn(world, 'multipart/related', file, url);
        const parts = [{ bytes, marker }, own];
        await noteHandIn(world, handed, { file, parts, markers: [marker, name] });
        files.push(digestOf(file));
      };
      await handInAgain();
      await handInAgain();
      const json = { sha256: dice.one(files), reason: 'personal_data' };
      world.require(await world.node.asOwner('POST', '/manage/withheld', { json }), 201);
      await noteWithholdings(world, world.node);
      await handInAgain();
      await requireHidden(world, [digestOf(bytes), ...files]);
      return files.join(', ');
    },
  },
  /** What was given up is handed in again, within another file. */
  handInReleased: {
    weight: 1,
    run: async (world, dice) => {
      const { node, require, check } = world;
      const held = await withheldFile(world, dice, titledPage(dice));
      const { sha256, content } = held;
      require(await node.asOwner('POST', '/manage/released', { json: { sha256, reason: 'owner' } }), 201);
      held.state = 'released';
      const { url, file } = savedWith(dice, content, dice.chance(0.5));
      const answer = await sendHandIn(world, 'multipart/related', file, url);
      check(answer.status === 410, () => `A file with released bytes was answered with ${answer.status}.`);
      require(await node.asOwner('GET', `/archive/${digestOf(file)}`), 404);
      return sha256;
    },
  },
} satisfies Record<string, StepKind>;
