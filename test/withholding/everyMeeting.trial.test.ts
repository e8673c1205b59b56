import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WithheldState } from '../../shared/node/withheld.ts';
import { imported } from '../collection/captures/support.ts';
import { sendFile } from '../collection/handedIn/support.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { addCopy, show, sync, withhold } from '../copies/withheldCopies.ts';
import { addPeer, EVERYTHING, mirror } from '../peers/support.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { markersShownTo } from '../simulate/visitor.ts';
import { newDraft, publish, sendFile as sendDraftFile } from '../support/archive/drafts.ts';
import { filesOf, packForm, sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { CC_BY } from '../support/network/repositoryRecords.ts';
import { closeRepositoryServers, RepositoryServer } from '../support/network/repositoryServer.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, DERIVING, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';
import { newSeeds } from '../support/seededRandom.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';

/*
 * Every way in which bytes come into an archive meets every other one, and every way of hiding them between or after the
 * two. Each case has bytes with a marker of their own. All cases are in one archive, so each way is gone once for many.
 */

const PACK_BYTES = 10_000;
const ELSEWHERE = 'http://elsewhere.example';
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
/** Nothing is refused for how much one sends. */
const AMPLE = { site_writes_per_hour: 1_000_000, site_gb_per_day: 1_000, data_cap_gb: 1_000 };

interface Case {
  name: string;
  first: WayName;
  second: WayName;
  hide: HideName;
  /** Whether the bytes come the second time before they are hidden. */
  isLate: boolean;
  marker: string;
  bytes: Buffer<ArrayBuffer>;
  sha256: string;
}

/** The same bytes, at another address or with another title each time. */
interface Coming extends Case {
  at: string;
}

interface Places {
  archive: CollectingNode;
  own: TestNode;
  web: ScriptedWeb;
  peer: CollectingNode;
  repository: RepositoryServer;
  mirrorAgain: () => Promise<void>;
}

/** What is refused, because the bytes were given up, is no fault here. */
const ACCEPTED = [200, 201, 409, 410, 422];
const requireAccepted = async (answer: Response) => {
  if (!ACCEPTED.includes(answer.status)) throw new Error(`${answer.status}: ${await answer.text()}`);
};

const titled = (at: string) => sampleRecord({ title: at });

async function publishAsSet(node: TestNode, { at, bytes }: Coming): Promise<void> {
  const { id } = await newDraft(node, titled(at));
  const put = await sendDraftFile(node, id, 'large.html', bytes);
  await requireAccepted(put);
  if (put.ok) await requireAccepted(await publish(node, id));
}

async function publishInPieces(own: TestNode, { at, bytes, sha256 }: Coming): Promise<void> {
  const parts: object[] = [];
  for (const [start, end] of [
    [0, 7_000],
    [7_000, bytes.length],
  ] as const) {
    const piece = bytes.subarray(start, end);
    const body = packForm(sampleRecord({ title: `${at}, ${start}` }), { piece });
    const sent = await own.fetchAsOwner(`/api/packs?piece_of=${sha256}`, { method: 'POST', body });
    await requireAccepted(sent);
    if (!sent.ok) return;
    const { id } = (await sent.json()) as { id: string };
    parts.push({ pack: id, path: 'piece', bytes: piece.length, sha256: sha256Of(piece) });
  }
  const list = {
    format: 'strongroom-set@1',
    files: [{ path: 'large.html', bytes: bytes.length, sha256, parts }],
  };
  const body = packForm(titled(at), { 'set.json': JSON.stringify(list) });
  await requireAccepted(await own.fetchAsOwner('/api/packs', { method: 'POST', body }));
}

async function sendPack(
  send: (path: string, init: RequestInit) => Promise<Response>,
  { at, bytes }: Coming,
): Promise<void> {
  const other = { 'own.txt': `Of ${at}.`, 'page.html': bytes };
  const record = { ...titled(at), files: filesOf(other, 'text/html') };
  await requireAccepted(await send('/api/packs', { method: 'POST', body: packForm(record, other) }));
}

async function watch(node: CollectingNode, web: ScriptedWeb, cases: readonly Coming[]): Promise<void> {
  const watched: string[] = [];
  for (const { at, bytes } of cases) {
    web.script(`/${at}`, page(bytes, HTML));
    watched.push((await node.watch(web.url(`/${at}`), { name: at, ignore_robots: true })).id);
  }
  await node.check(watched);
}

const saved = (at: string, content: string | Buffer, style?: Buffer) =>
  savedPage(`${ELSEWHERE}/${at}`, [
    { type: 'text/html', location: `${ELSEWHERE}/${at}`, content },
    ...(style ? [{ type: 'text/css', location: `${ELSEWHERE}/${at}.css`, content: style }] : []),
  ]);

const handInAs = (own: TestNode, file: Buffer, type: string, at: string) =>
  sendFile(own, file, type, { withheld: 'false', url: `${ELSEWHERE}/${at}` });

/** The ways in which bytes come. */
const WAYS = {
  async pack({ own }, cases) {
    for (const each of cases) await sendPack((path, init) => own.fetchAsOwner(path, init), each);
  },
  async contribution({ own }, cases) {
    await share(own, 'contribute');
    for (const each of cases) await sendPack((path, init) => own.fetch(path, init), each);
    await share(own, 'read');
  },
  async set({ own }, cases) {
    for (const each of cases) await publishAsSet(own, each);
  },
  async pieces({ own }, cases) {
    for (const each of cases) await publishInPieces(own, each);
  },
  async watch({ archive, web }, cases) {
    await watch(archive, web, cases);
  },
  async warc({ archive }, cases) {
    const records = cases.map(({ at, bytes }) => response(bytes, { uri: `${ELSEWHERE}/${at}` }));
    await imported(archive, gzippedByRecord(records));
  },
  async handedInFile({ own }, cases) {
    for (const { at, bytes } of cases) await requireAccepted(await handInAs(own, bytes, 'text/html', at));
  },
  async handedInDocument({ own }, cases) {
    for (const { at, bytes } of cases)
      await requireAccepted(await handInAs(own, saved(at, bytes), 'multipart/related', at));
  },
  async handedInPart({ own }, cases) {
    for (const { at, bytes } of cases) {
      const document = `<!doctype html><title>${at}</title><p>A page ${at}.</p>`;
      await requireAccepted(await handInAs(own, saved(at, document, bytes), 'multipart/related', at));
    }
  },
  async repository({ own, repository }, cases) {
    for (const { at, bytes } of cases) {
      const files = [{ name: 'page.html', bytes }];
      const { doi } = repository.add({ id: at, title: at, doi: `10.5072/${at}`, license: CC_BY, files });
      const answer = await own.sendJson('POST', '/manage/import?wait=true', { doi });
      await requireAccepted(answer);
      const { draft } = (await answer.json()) as { draft?: string };
      if (draft === undefined) continue;
      await requireAccepted(await own.sendJson('PATCH', `/manage/drafts/${draft}`, { record: titled(at) }));
      await requireAccepted(await publish(own, draft));
    }
  },
  async mirroredPack({ peer, mirrorAgain }, cases) {
    for (const each of cases) await sendPack((path, init) => peer.node.fetchAsOwner(path, init), each);
    await mirrorAgain();
  },
  async mirroredSet({ peer, mirrorAgain }, cases) {
    for (const each of cases) await publishAsSet(peer.node, each);
    await mirrorAgain();
  },
  async mirroredRetrieval({ peer, web, mirrorAgain }, cases) {
    await watch(peer, web, cases);
    await mirrorAgain();
  },
} satisfies Record<string, (places: Places, cases: readonly Coming[]) => Promise<void>>;
type WayName = keyof typeof WAYS;
const WAY_NAMES = Object.keys(WAYS) as WayName[];

const withholdObject = ({ own }: Places, { sha256 }: Case) => withhold(own, { sha256 });
async function giveUp(places: Places, each: Case): Promise<void> {
  const { own } = places;
  const send = (sha256: string) =>
    own.sendJson('POST', '/manage/released', { sha256, reason: 'personal_data' });
  const answer = await send(each.sha256);
  if (answer.status === 201) return;
  // What is only there in the parts of a set is withheld, and then its parts are given up.
  expect(await answer.json(), each.name).toMatchObject({ code: 'unknown_target' });
  await own.sendJson('POST', '/manage/withheld', { sha256: each.sha256, reason: 'personal_data' });
  const { withheld } = await read<WithheldState>(own, `/api/withheld/state?sha256=${each.sha256}`);
  const entry = withheld[0]?.ledger_entry;
  const covered = await read<{ items: { sha256: string }[] }>(
    own,
    `/api/withheld/objects?withholding=${entry}`,
  );
  for (const { sha256 } of covered.items) expect((await send(sha256)).status, each.name).toBe(201);
}

async function read<Body>(node: TestNode, address: string): Promise<Body> {
  return (await (await node.fetch(address)).json()) as Body;
}

/** The ways of hiding bytes. Afterwards no visitor may get them. */
const HIDES = {
  withheld: withholdObject,
  async withheldAgain(places, each) {
    await withholdObject(places, each);
    await show(places.own, { sha256: each.sha256 });
    await withholdObject(places, each);
  },
  async withheldWithAll({ own }, _each, containers) {
    for (const container of containers) await withhold(own, container);
  },
  released: giveUp,
  async withheldAndReleased(places, each) {
    await withholdObject(places, each);
    await giveUp(places, each);
  },
} satisfies Record<string, (places: Places, each: Case, containers: readonly object[]) => Promise<void>>;
type HideName = keyof typeof HIDES;
const HIDE_NAMES = Object.keys(HIDES) as HideName[];

/** What bytes came in has them, too, and keeps them when they alone are released, as is documented. */
const HAVE_THEM: readonly WayName[] = ['handedInDocument', 'handedInPart'];
/** A run has one of so many cases, since each case is looked for in thousands of answers. */
const SHARES = 4;
const VARIANTS = HIDE_NAMES.length * 2 * SHARES;
const [SEED = 0] = newSeeds(1);
const VARIANT = SEED % VARIANTS;
/** What repeats a run that fails. */
const TOLD = `STRONGROOM_SEED=${VARIANT}`;

/**
 * Of each way with each other one, a share. Over all variants, each two are hidden in every way, between the two and after
 * them.
 */
function casesOf(variant: number): Case[] {
  const dice = new Dice(variant + 1);
  return WAY_NAMES.flatMap((first, row) =>
    WAY_NAMES.map((second, column) => {
      const number = row + 3 * column + Math.floor(variant / SHARES);
      const isLate = number % 2 === 0;
      const chosen = HIDE_NAMES[number % HIDE_NAMES.length] ?? 'withheld';
      const came = isLate ? [first, second] : [first];
      const isKept = chosen === 'released' && came.some((way) => HAVE_THEM.includes(way));
      const hide = isKept ? 'withheldAndReleased' : chosen;
      const marker = newMarker(dice);
      const filler = `${dice.letters(6)} `.repeat(700);
      const bytes = Buffer.from(
        `<!doctype html><title>Page</title><body><p>${marker} ${filler}</p><p>${filler} ${marker}</p></body>`,
      );
      const name = `${first}-${second}-${hide}-${isLate ? 'late' : 'between'}`;
      return { name, first, second, hide, isLate, marker, bytes, sha256: sha256Of(bytes) };
    }).filter((_, column) => (row + column) % SHARES === variant % SHARES),
  );
}

let places: Places;
let cases: Case[];
let dump: DumpedLine[];

interface DumpedLine {
  kind: string;
  id?: string | number;
  sha256?: string | null;
  record?: { files?: { sha256: string }[] };
}

async function dumped(node: TestNode): Promise<DumpedLine[]> {
  const text = await (await fetch(new URL('/api/dump.jsonl', node.url))).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DumpedLine);
}

/** Everything that an archive records of these bytes, as it can be withheld. */
function containersOf(sha256: string): object[] {
  return dump.flatMap(({ kind, id, sha256: retrieved, record }): object[] => {
    if (kind === 'retrieval' && retrieved === sha256) return [{ retrieval: id }];
    if (kind === 'pack' && record?.files?.some((file) => file.sha256 === sha256)) return [{ pack: id }];
    return [];
  });
}

async function come(way: 'first' | 'second', isDue: (each: Case) => boolean): Promise<void> {
  for (const name of WAY_NAMES) {
    const due = cases.filter((each) => each[way] === name && isDue(each));
    if (due.length > 0)
      await WAYS[name](
        places,
        due.map((each) => ({ ...each, at: `${way}-${each.name}` })),
      );
  }
}

async function hide(isDue: (each: Case) => boolean): Promise<void> {
  dump = await dumped(places.own);
  for (const each of cases.filter(isDue)) {
    const containers = containersOf(each.sha256);
    await (each.hide === 'withheldWithAll' && containers.length === 0
      ? HIDES.withheld(places, each)
      : HIDES[each.hide](places, each, containers));
  }
}

beforeAll(async () => {
  cases = casesOf(VARIANT);
  const repository = await RepositoryServer.open('invenio');
  const settings = { ...AMPLE, doi_resolver: repository.resolver };
  const web = await ScriptedWeb.open();
  const archive = await openCollectingNode(settings, { ...DERIVING, packBytes: PACK_BYTES });
  const peer = await openCollectingNode(AMPLE, { packBytes: PACK_BYTES });
  const known = await addPeer(archive.node, peer.node.url);
  const mirrorAgain = async () => void (await mirror(archive.node, known, { packs: true, sources: true }));
  places = { archive, own: archive.node, web, peer, repository, mirrorAgain };
  await come('first', () => true);
  await hide(({ isLate }) => !isLate);
  await come('second', () => true);
  await hide(({ isLate }) => isLate);
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await closeRepositoryServers();
});

/** What a visitor gets of the bytes of each case, as far as it is not what he may get. */
async function wrongly(
  node: TestNode,
  isRight: (statuses: number[], each: Case) => boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const each of cases) {
    const addresses = [`/api/blobs/${each.sha256}`, `/archive/${each.sha256}`];
    const answers = await Promise.all(addresses.map((address) => fetch(new URL(address, node.url))));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    const statuses = answers.map(({ status }) => status);
    if (!isRight(statuses, each)) wrong.push(`${each.name}: ${statuses.join(' and ')}`);
  }
  return wrong;
}

const isReleased = ({ hide: how }: Case) => how === 'released' || how === 'withheldAndReleased';
/** In parts of sets alone, the bytes are nowhere whole. */
const isInParts = ({ first, second }: Case) =>
  [first, second].every((way) => ['set', 'pieces', 'mirroredSet'].includes(way));
/** One of the addresses says why, the other one may not know the bytes. */
const isHidden = (statuses: number[], each: Case) => {
  const why = isReleased(each) ? [410, 451] : [451];
  const isWhy = (status: number) => why.includes(status);
  return (
    (isInParts(each) || statuses.some(isWhy)) && statuses.every((status) => status === 404 || isWhy(status))
  );
};

test('visitors get none of it by its digest, and read why', async () => {
  expect(await wrongly(places.own, isHidden), TOLD).toEqual([]);
});

test('the owner still has what is withheld', async () => {
  const wrong: string[] = [];
  for (const { name, bytes, sha256 } of cases.filter((one) => !isReleased(one) && !isInParts(one))) {
    const object = await places.own.fetchAsOwner(`/archive/${sha256}`);
    const read = object.ok ? object : await places.own.fetchAsOwner(`/api/blobs/${sha256}`);
    if (!Buffer.from(await read.arrayBuffer()).equals(bytes)) wrong.push(name);
  }
  expect(wrong, TOLD).toEqual([]);
});

test('no route shows a visitor a marker, and no file of a copy with pages has one', async () => {
  const named = new Map(cases.map(({ marker, name }) => [marker, name]));
  const get = (address: string) => fetch(new URL(address, places.own.url), { redirect: 'manual' });
  const found = await markersShownTo(get, [...named.keys()]);
  expect(
    found.map(({ marker, at }) => `${named.get(marker)} at ${at}`),
    TOLD,
  ).toEqual([]);
  const place = join(await temporaryFolder(), 'copy');
  await sync(places.own, await addCopy(places.own, place));
  const copied = await markersInFolder(place, named.keys());
  expect(
    copied.map(({ marker, at }) => `${named.get(marker)} at ${at}`),
    TOLD,
  ).toEqual([]);
});

test('a mirror and a restored archive show none of it', async () => {
  const mirrored = await openTestNode({ packBytes: PACK_BYTES });
  await mirror(mirrored, await addPeer(mirrored, places.own.url), EVERYTHING);
  expect(await wrongly(mirrored, (statuses) => !statuses.includes(200)), TOLD).toEqual([]);
  const folder = await temporaryFolder();
  const [zip, data] = [join(folder, 'archive.zip'), join(folder, 'data')];
  await writeFile(zip, await (await places.own.fetchAsOwner('/manage/archive.zip')).bytes());
  expect(await runHere(['import', zip, '--data', data])).toMatchObject({ code: 0, stderr: '' });
  const restored = await openTestNode({ dataFolder: data, packBytes: PACK_BYTES });
  expect(await wrongly(restored, isHidden), TOLD).toEqual([]);
});
