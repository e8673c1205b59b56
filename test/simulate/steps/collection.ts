import type { CaptureResult } from '../../../shared/collection/captures.ts';
import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import { page, redirect, reset, type Step } from '../../support/network/scriptedWeb.ts';
import { savedPage } from '../../support/savedPages.ts';
import { gzippedByRecord, response } from '../../support/warcFiles.ts';
import { type Client, jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy, noteReleasedForAge } from '../invariants.ts';
import { newMarker } from '../markers.ts';
import { digestOf } from '../model.ts';
import type { World } from '../world.ts';
import { type Content, newPage, newText, type StepKind } from './step.ts';

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const PAGES = ['/a', '/b', '/c', '/d', '/e', '/f'];

/** Whether a page of the web is watched, and not only handed in or captured by others. */
export const isWatching = ({ model }: World) => model.sources.some(({ path }) => PAGES.includes(path));

/** Puts another version of some pages on the web, or an older one, or a failure. */
function changeWeb({ web, model, served }: World, dice: Dice, first: readonly string[] = []): void {
  const watched = model.sources.map(({ path }) => path).filter((path) => PAGES.includes(path));
  const changed = [...first, ...dice.some(watched, dice.between(1, 3)), ...dice.some(PAGES, 1)];
  for (const path of new Set(changed)) {
    const known = served.get(path) ?? [];
    const content = dice.chance(0.2) && known.length > 0 ? dice.one(known) : newPage(dice, path.slice(1));
    served.set(path, [...known, content]);
    const failure = dice.int(20);
    if (failure === 0) web.script(path, page('', { status: 404 }));
    else if (failure === 1) web.script(path, reset());
    else if (failure === 2) web.script(path, repeatingRedirect(dice.one(PAGES)));
    else web.script(path, repeatingPage(content.bytes));
  }
}

const KEY_HEADER = 'x-api-key';

/** A page that repeats the key of its reader in its headers, as a site may. */
function repeatingPage(bytes: Buffer): Step {
  return (socket, request) => {
    const key = request.headers[KEY_HEADER];
    const repeated = key && { 'X-Reader': key, ETag: `"${key}"`, 'Set-Cookie': `session=${key}; Path=/` };
    return page(bytes, { headers: { ...HTML.headers, ...repeated } })(socket, request);
  };
}

/** A redirect that repeats the key of its reader in the address. */
function repeatingRedirect(to: string): Step {
  return (socket, request) => {
    const key = request.headers[KEY_HEADER];
    return redirect(key === undefined ? to : `${to}?key=${key}`, 301)(socket, request);
  };
}

/** Notes what a round or an import recorded: its events, and the bytes that they name. */
export async function noteEvents(world: World, events: readonly number[], node = world.node): Promise<void> {
  const { model } = world;
  for (const id of events) {
    const event = jsonOf<Event>(await node.asOwner('GET', `/api/events/${id}`));
    const { sha256, event_type, source, observed_at } = event;
    model.events.push({ id, sha256, source: source.id, at: event.original_observed_at ?? observed_at });
    model.keep(`/api/events/${id}`, { id, sha256, event_type });
    if (sha256 !== null) await noteObject(world, sha256, node);
  }
  await noteRetrievals(world, node);
}

/** Notes an object by what the web served, or by what the node has of it. */
export async function noteObject(world: World, sha256: string, node: Client): Promise<void> {
  const { model, served } = world;
  if (model.bytes.has(sha256)) return;
  const content = [...served.values()].flat().find(({ bytes }) => digestOf(bytes) === sha256);
  if (content) {
    model.hold(content.bytes, 'object', [content.marker]);
    return;
  }
  const answer = await node.asOwner('GET', `/archive/${sha256}`);
  world.require(answer, 200);
  world.check(digestOf(answer.body) === sha256, `The object ${sha256} has other bytes.`);
  model.hold(answer.body, 'object', []);
}

async function noteRetrievals({ model }: World, node: Client): Promise<void> {
  const seen: number[] = [];
  for (const { id } of model.sources.slice(0, 3)) {
    const answer = await node.asOwner('GET', `/manage/sources/${id}/retrievals?limit=20`);
    if (answer.status === 200)
      seen.push(
        ...jsonOf<{ items: Retrieval[] }>(answer)
          .items.filter(({ sha256 }) => sha256 !== null)
          .map((each) => each.id),
      );
  }
  model.retrievals = seen;
}

/** Notes the withholdings that a node made by itself, as of what was handed in. */
export async function noteWithholdings({ model }: World, node: Client): Promise<void> {
  const answer = await node.asVisitor('/api/withheld?limit=500');
  const { items } = jsonOf<{ items: { ledger_entry: number; reason: string }[] }>(answer);
  for (const { ledger_entry: entry, reason, ...rest } of items)
    if (!model.withholdings.has(entry))
      model.withholdings.set(entry, {
        entry,
        target: targetOf(rest),
        reason,
        covers: await coveredBy(node, entry),
      });
}

/** The member of a withholding that says what it names. */
export function targetOf(listed: object): object {
  const names = ['sha256', 'retrieval', 'pack', 'page'];
  return Object.fromEntries(
    Object.entries(listed).filter(([name, value]) => names.includes(name) && value !== null),
  ) as object;
}

async function learnAfterFault(world: World): Promise<void> {
  const { model } = world;
  const answer = await world.node.asVisitor('/api/events?limit=500');
  const { items } = jsonOf<{ items: Event[] }>(answer);
  const known = new Set(model.events.map(({ id }) => id));
  await noteEvents(
    world,
    items.map(({ id }) => id).filter((id) => !known.has(id)),
  );
  await noteWithholdings(world, world.node);
  await noteSources(world);
}

async function noteSources({ model, node }: World): Promise<void> {
  const { items } = jsonOf<{ items: { id: string; url: string }[] }>(
    await node.asVisitor('/api/sources?limit=500'),
  );
  for (const { id, url } of items)
    if (!model.sources.some((source) => source.id === id))
      model.sources.push({ id, url, path: new URL(url).pathname });
}

/** A header of the owner's whose value nobody else may see. */
function newKey({ model }: World, dice: Dice): Record<string, string> {
  const marker = newMarker(dice);
  model.secrets.set(marker, { marker, why: 'it is the value of a header of the owner' });
  return { [KEY_HEADER]: marker };
}

export const collectionSteps = {
  watch: {
    weight: 4,
    isPlain: true,
    can: ({ model }) => PAGES.some((each) => !model.sources.some(({ path }) => path === each)),
    run: async (world, dice) => {
      const { node, model, web, require } = world;
      const path = dice.one(PAGES.filter((each) => !model.sources.some((source) => source.path === each)));
      changeWeb(world, dice, [path]);
      const json = {
        url: web.url(path),
        name: `Source ${dice.letters(4)}`,
        ...(dice.chance(0.15) && { keep_days: 2 }),
        ...(dice.chance(0.2) && { noise_rules: [{ kind: 'selector', value: 'h1', note: '' }] }),
        ...(dice.chance(0.3) && { headers: newKey(world, dice) }),
      };
      world.attempt = () => noteSources(world);
      const answer = await node.asOwner('POST', '/manage/sources', { json });
      require(answer, 201, 409);
      if (answer.status === 409) {
        await noteSources(world);
        return 'was watched';
      }
      const { id, url } = jsonOf<{ id: string; url: string }>(answer);
      model.sources.push({ id, path, url });
      model.keep(`/api/sources/${id}`, { id, name: json.name });
      return path;
    },
  },
  collect: {
    weight: 9,
    isPlain: true,
    can: (world) => isWatching(world),
    run: async (world, dice) => {
      changeWeb(world, dice);
      world.clock.move(dice.between(60_000, 20 * 3_600_000));
      world.attempt = () => learnAfterFault(world);
      const answer = await world.node.asOwner('POST', '/manage/collections?wait=true', { json: {} });
      world.require(answer, 200);
      const { events, failed } = jsonOf<CollectionResult>(answer);
      await noteEvents(world, events);
      await noteReleasedForAge(world, world.node);
      return `${events.length} events, ${failed} failed`;
    },
  },
  changeSource: {
    weight: 1,
    isPlain: true,
    can: ({ model }) => model.sources.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const { id } = dice.one(model.sources);
      const name = `Renamed ${dice.letters(5)}`;
      world.attempt = async () => {
        const now = jsonOf<{ name: string }>(await world.node.asVisitor(`/api/sources/${id}`)).name;
        model.keep(`/api/sources/${id}`, { id, name: now });
      };
      require(await node.asOwner('PATCH', `/manage/sources/${id}`, { json: { name } }), 200);
      model.keep(`/api/sources/${id}`, { id, name });
      return id;
    },
  },
  importWarc: {
    weight: 4,
    isPlain: true,
    run: async (world, dice) => {
      const { model } = world;
      const uri = `http://captured.example/${dice.letters(2)}`;
      const captures = Array.from({ length: dice.between(1, 3) }, () => newPage(dice));
      // Others may have captured what this archive withholds.
      const known = dice
        .some(
          [...model.bytes.values()].filter(({ state }) => state !== 'released'),
          dice.chance(0.5) ? 1 : 0,
        )
        .map(({ content }) => content);
      const bodies = [...captures.map(({ bytes }) => bytes), ...known];
      const day = (index: number) => `20${dice.between(10, 25)}-01-${String(index + 10)}T12:00:00Z`;
      const records = bodies.map((body, index) => response(body, { uri, date: day(index) }));
      const file = dice.chance(0.5) ? gzippedByRecord(records) : Buffer.concat(records);
      world.attempt = async () => {
        world.served.set(uri, captures);
        await learnAfterFault(world);
      };
      const answer = await world.node.asOwner('POST', `/manage/captures?observer=Other${dice.int(3)}`, {
        body: new Uint8Array(file),
        headers: { 'Content-Type': 'application/warc' },
      });
      world.require(answer, 200);
      const { events, captures: recorded } = jsonOf<CaptureResult>(answer);
      if (recorded === bodies.length)
        for (const { bytes, marker } of captures) model.hold(bytes, 'object', [marker]);
      if (!model.captured.includes(uri)) model.captured.push(uri);
      world.served.set(uri, captures);
      await noteEvents(world, events);
      await noteSources(world);
      return `${recorded} captures`;
    },
  },
  handIn: {
    weight: 4,
    isPlain: true,
    run: async (world, dice) => {
      const { model } = world;
      const url = `http://seen.example/${dice.letters(3)}`;
      const [document, own] = [newPage(dice), newText(dice)];
      const style = newText(dice);
      // A part may be a file that others have too.
      const known = dice.chance(0.3) ? dice.pick([...model.bytes.values()]) : undefined;
      const css = Buffer.from(`p::after { content: "${style.marker}" }\n`);
      const file = savedPage(
        url,
        [
          { type: 'text/html', location: url, content: document.bytes },
          { type: 'text/css', location: `${url}/style.css`, content: css },
          ...(known ? [{ type: 'text/plain', location: `${url}/known`, content: known.content }] : []),
          { type: 'text/plain', location: `${url}/own`, content: own.bytes },
        ],
        `----MultipartBoundary--${dice.letters(16)}----`,
      );
      const isWithheld = !dice.chance(0.3);
      world.served.set(url, [document, { bytes: css, marker: style.marker }, own]);
      world.attempt = () => learnAfterFault(world);
      const answer = await world.node.asOwner('POST', `/manage/handed-in?withheld=${isWithheld}`, {
        body: new Uint8Array(file),
        headers: { 'Content-Type': 'multipart/related' },
      });
      if (answer.status === 410) return 'has released bytes';
      world.require(answer, 201);
      const handed = jsonOf<HandIn>(answer);
      const parts = [document, { bytes: css, marker: style.marker }, own];
      await noteHandIn(world, handed, { file, parts, markers: known?.markers ?? [] });
      return handed.id;
    },
  },
} satisfies Record<string, StepKind>;

/**
 * Notes what was handed in.
 * @param markers those of parts that are known already
 */
export async function noteHandIn(
  world: World,
  handIn: HandIn,
  { file, parts, markers }: { file: Buffer; parts: readonly Content[]; markers: readonly string[] },
): Promise<void> {
  const { model, node } = world;
  const markersOf = ({ marker }: Content) => (marker === '' ? [] : [marker]);
  for (const part of parts) model.hold(part.bytes, 'object', markersOf(part));
  model.hold(file, 'object', [...parts.flatMap(markersOf), ...markers]);
  model.handedIn.push({ id: handIn.id, retrieval: handIn.retrieval });
  model.keep(`/manage/handed-in/${handIn.id}`, { id: handIn.id, file: handIn.file }, { isPrivate: true });
  await noteWithholdings(world, node);
  await noteFileOfWithheld(world, handIn);
  await learnAfterFault(world);
}

/** A file that was handed in is withheld with a part of it that is withheld for itself: by what withholds that part. */
async function noteFileOfWithheld({ model, node, check }: World, { id, file, parts }: HandIn): Promise<void> {
  for (const { entry, covers } of model.withholdings.values()) {
    if (covers.has(file.sha256) || !(await coveredBy(node, entry)).has(file.sha256)) continue;
    const isWithPart = parts.some(({ sha256 }) => sha256 !== null && covers.has(sha256));
    check(isWithPart, `The withholding ${entry} covers the file of ${id}, of which it covers no part.`);
    covers.add(file.sha256);
  }
}
