import type { StoredDraft } from '../../../shared/archive/draft.ts';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { SetManifest } from '../../../shared/archive/set.ts';
import { STUDY_TRANSITIONS, type StudyStatus } from '../../../shared/archive/study.ts';
import { type Answer, codeOf, jsonOf, Violation } from '../client.ts';
import type { Dice } from '../dice.ts';
import { newMarker } from '../markers.ts';
import { digestOf, type Held } from '../model.ts';
import { PACK_BYTES, type World } from '../world.ts';
import { newText, type StepKind } from './step.ts';

const FORMAT = { pack_format: 1, terms_version: '2026-10-01', license: 'CC0-1.0' } as const;

export function newRecord(dice: Dice, changes: object = {}): object {
  const outcome = dice.one(['positive', 'negative', 'null', 'mixed']);
  return {
    ...FORMAT,
    title: `Pack ${dice.letters(6)}`,
    authors: [{ name: 'Ada Lovelace' }],
    outcome,
    ...changes,
  };
}

export type NewFile = { path: string; content: Buffer; markers: readonly string[] };

export function newFiles(dice: Dice, count = dice.between(1, 3)): NewFile[] {
  return Array.from({ length: count }, (_, index) => {
    const { bytes, marker } = newText(dice, dice.chance(0.1) ? 100_000 : 400);
    return { path: `${index}.${dice.one(['txt', 'txt', 'csv'])}`, content: bytes, markers: [marker] };
  });
}

export function formOf(record: object, files: readonly NewFile[]): FormData {
  const form = new FormData();
  form.append('record', JSON.stringify(record));
  for (const { path, content } of files) form.append('files', new Blob([new Uint8Array(content)]), path);
  return form;
}

/** Notes a pack that was acknowledged, with its bytes. */
export function notePack({ model }: World, answer: Answer, files: readonly NewFile[]): Pack {
  const pack = jsonOf<Pack>(answer);
  for (const { content, markers } of files) model.hold(content, 'blob', markers);
  const { id, digest } = pack;
  if (!model.packs.some((each) => each.id === id))
    model.packs.push({
      id,
      files: files.map(({ path, content }) => ({ path, sha256: digestOf(content) })),
    });
  model.keep(`/api/packs/${id}`, { id, digest, title: pack.title });
  return pack;
}

const isReleased = ({ model }: World, files: readonly NewFile[]) =>
  files.some(({ content }) => model.bytes.get(digestOf(content))?.state === 'released');

async function upload(world: World, record: object, files: readonly NewFile[]): Promise<string> {
  const answer = await world.node.asOwner('POST', '/api/packs', { body: formOf(record, files) });
  if (isReleased(world, files)) {
    world.check(
      answer.status === 410 || answer.status === 201,
      `A pack with released bytes got ${answer.status}.`,
    );
    if (answer.status === 410) return 'refused, as its bytes were released';
  }
  world.require(answer, 201);
  return notePack(world, answer, files).id;
}

/** Files of the archive, to be published again. */
function knownFiles({ model }: World, dice: Dice): NewFile[] {
  const known = dice.some([...model.bytes.values()], 2);
  return known.map(({ content, markers }, index) => ({ path: `again-${index}.txt`, content, markers }));
}

export const packSteps = {
  publish: {
    weight: 8,
    isPlain: true,
    run: async (world, dice) => {
      const { model } = world;
      const study = dice.chance(0.4) ? dice.pick(model.studies)?.id : undefined;
      const supersedes = dice.chance(0.2) ? dice.pick(model.packs)?.id : undefined;
      const changes = { ...(study && { study }), ...(supersedes && { supersedes }) };
      return upload(world, newRecord(dice, changes), newFiles(dice));
    },
  },
  publishKnownBytes: {
    weight: 3,
    isPlain: true,
    can: ({ model }) => model.bytes.size > 0,
    run: (world, dice) => upload(world, newRecord(dice), [...knownFiles(world, dice), ...newFiles(dice, 1)]),
  },
  subject: {
    weight: 2,
    isPlain: true,
    run: async ({ node, model, require }, dice) => {
      const parent = dice.chance(0.4)
        ? dice.pick(model.nodes.filter((path) => path.split('/').length < 6))
        : undefined;
      const path = `${parent ? `${parent}/` : ''}${dice.letters(8)}`;
      const title = `Subject ${dice.letters(5)}`;
      require(await node.asOwner('POST', '/api/nodes', { json: { path, title } }), 201);
      model.nodes.push(path);
      model.keep(`/api/nodes/${path}`, { path, title });
      return path;
    },
  },
  study: {
    weight: 2,
    isPlain: true,
    run: async ({ node, model, require }, dice) => {
      const json = {
        title: `Study ${dice.letters(5)}`,
        question: 'Is it so?',
        node: dice.pick(model.nodes) ?? null,
      };
      const answer = await node.asOwner('POST', '/api/studies', { json });
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.studies.push({ id, status: 'planned' });
      model.keep(`/api/studies/${id}`, { id, title: json.title, status: 'planned' });
      return id;
    },
  },
  studyStatus: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.studies.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const study = dice.one(model.studies);
      const path = `/api/studies/${study.id}`;
      const status = dice.one(STUDY_TRANSITIONS[study.status as StudyStatus]);
      world.attempt = async () => {
        const now = jsonOf<{ status: string }>(await world.node.asVisitor(path)).status;
        world.check(now === study.status || now === status, `${path} is ${now}.`);
        study.status = now;
        model.keep(path, { id: study.id, status: now });
      };
      require(await node.asOwner('POST', `${path}/status`, {
        json: { status, note: 'So it is.' },
      }), 200, 201);
      study.status = status;
      model.keep(path, { id: study.id, status });
      return `${study.id} is ${status}`;
    },
  },
  comment: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.packs.length + model.studies.length > 0,
    run: async ({ node, model, require }, dice) => {
      const item = dice.one([...model.packs, ...model.studies]).id;
      const earlier = dice.pick(model.comments.filter((comment) => comment.item === item));
      const json = {
        author: 'Bea',
        body: `Comment ${dice.letters(12)}`,
        ...(earlier && { reply_to: earlier.id }),
      };
      const answer = await node.asOwner('POST', `/api/items/${item}/comments`, { json });
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.comments.push({ id, item });
      model.keep(`/api/items/${item}/comments?limit=500`, { id, body: json.body }, { isItem: true });
      return id;
    },
  },
  flag: {
    weight: 1,
    isPlain: true,
    can: ({ model }) => model.packs.length > 0,
    run: async ({ node, model, require }, dice) => {
      const { id } = dice.one(model.packs);
      const json = { reason: 'other', note: `Look ${dice.letters(6)}` };
      require(await node.asOwner('POST', `/api/packs/${id}/flag`, { json }), 200, 201);
      return id;
    },
  },
  draft: {
    weight: 3,
    isPlain: true,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const answer = await node.asOwner('POST', '/manage/drafts', { json: { record: newRecord(dice) } });
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      const draft = { id, files: new Map<string, Held>() };
      model.drafts.push(draft);
      model.keep(`/manage/drafts/${id}`, { id }, { isPrivate: true, isLocal: true });
      for (const file of newFiles(dice)) await putFile(world, draft, file);
      return id;
    },
  },
  /** The files of a draft are large: it is published as a set, in parts. */
  draftOfSet: {
    weight: 2,
    isPlain: true,
    run: async (world, dice) => {
      const answer = await world.node.asOwner('POST', '/manage/drafts', {
        json: { record: newRecord(dice) },
      });
      world.require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      const draft = { id, files: new Map<string, Held>() };
      world.model.drafts.push(draft);
      const count = dice.chance(0.1) ? 30 : dice.between(2, 5);
      for (let number = 0; number < count; number += 1) {
        const { bytes, marker } = newText(dice);
        const last = newMarker(dice);
        const size = dice.between(bytes.length, number === 0 ? 3 * PACK_BYTES : PACK_BYTES / 2);
        const content = Buffer.concat([bytes, Buffer.alloc(size, dice.letters(7)), Buffer.from(` ${last}`)]);
        await putFile(world, draft, { path: `data/${number}.bin`, content, markers: [marker, last] });
      }
      return id;
    },
  },
  publishDraft: {
    weight: 4,
    isPlain: true,
    can: ({ model }) => model.drafts.length > 0,
    run: async (world, dice) => {
      const draft = dice.one(world.model.drafts);
      // A draft whose publishing was not answered may be published, or some parts of a set: each is public once it is recorded.
      world.attempt = async () => {
        for (const { markers } of draft.files.values())
          for (const marker of markers) world.model.secrets.delete(marker);
        const now = jsonOf<{ pack: string | null }>(
          await world.node.asOwner('GET', `/manage/drafts/${draft.id}`),
        );
        if (now.pack !== null)
          await notePublished(world, draft, await world.node.asVisitor(`/api/packs/${now.pack}`));
      };
      const answer = await world.node.asOwner('POST', `/manage/drafts/${draft.id}/publish`);
      if (codeOf(answer) === 'released') return `${draft.id} has released bytes`;
      world.require(answer, 200, 201);
      await notePublished(world, draft, answer);
      return `${draft.id} is ${jsonOf<{ id: string }>(answer).id}`;
    },
  },
  deleteDraft: {
    weight: 1,
    isPlain: true,
    can: ({ model }) => model.drafts.length > 1,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const draft = dice.one(model.drafts);
      world.attempt = async () => {
        if ((await world.node.asOwner('GET', `/manage/drafts/${draft.id}`)).status === 404)
          forget(world, draft);
      };
      require(await node.asOwner('DELETE', `/manage/drafts/${draft.id}`), 204);
      forget(world, draft);
      return draft.id;
    },
  },
} satisfies Record<string, StepKind>;

type Draft = World['model']['drafts'][number];

async function putFile(world: World, draft: Draft, { path, content, markers }: NewFile): Promise<void> {
  const { node, model, require } = world;
  for (const marker of markers) model.secrets.set(marker, { marker, why: `the draft ${draft.id}` });
  const file = {
    sha256: digestOf(content),
    content,
    markers,
    kind: 'blob',
    state: 'held',
    isTheirs: false,
  } as const;
  world.attempt = async () => {
    const now = jsonOf<StoredDraft>(await world.node.asOwner('GET', `/manage/drafts/${draft.id}`));
    if (now.files.some((each) => each.path === path)) draft.files.set(path, { ...file });
  };
  const answer = await node.asOwner(
    'PUT',
    `/manage/drafts/${draft.id}/files?path=${encodeURIComponent(path)}`,
    {
      body: new Uint8Array(content),
      headers: { 'Content-Type': 'application/octet-stream' },
    },
  );
  require(answer, 200);
  draft.files.set(path, { ...file });
}

function forget({ model }: World, draft: Draft): void {
  model.drafts.splice(model.drafts.indexOf(draft), 1);
  model.forget(`/manage/drafts/${draft.id}`);
}

/** Makes a draft with these files and publishes it. Returns the id of the pack or the set. */
export async function publishNow(world: World, record: object, files: readonly NewFile[]): Promise<string> {
  const { node, model, require } = world;
  const answer = await node.asOwner('POST', '/manage/drafts', { json: { record } });
  require(answer, 201);
  const draft = { id: jsonOf<{ id: string }>(answer).id, files: new Map<string, Held>() };
  model.drafts.push(draft);
  for (const file of files) await putFile(world, draft, file);
  const published = await node.asOwner('POST', `/manage/drafts/${draft.id}/publish`);
  require(published, 201);
  await notePublished(world, draft, published);
  return jsonOf<{ id: string }>(published).id;
}

/** Notes that a draft was published, as a pack or as a set. */
async function notePublished(world: World, draft: Draft, answer: Answer): Promise<void> {
  const { model } = world;
  const files = [...draft.files].map(([path, { content, markers }]) => ({ path, content, markers }));
  for (const { markers } of files) for (const marker of markers) model.secrets.delete(marker);
  forget(world, draft);
  const pack = jsonOf<Pack>(answer);
  if (!pack.files.some(({ path }) => path === 'set.json')) {
    notePack(world, answer, files);
    return;
  }
  model.keep(`/api/packs/${pack.id}`, { id: pack.id, digest: pack.digest });
  await noteParts(world, pack, files);
}

/** Notes the packs of which a set is made, with their bytes, and its list of them. */
async function noteParts(world: World, set: Pack, files: readonly NewFile[]): Promise<void> {
  const { model, node } = world;
  const list = set.files.find(({ path }) => path === 'set.json')?.sha256 ?? '';
  const manifest = await node.asOwner('GET', `/api/blobs/${list}`);
  world.require(manifest, 200);
  model.hold(manifest.body, 'blob', []);
  model.packs.push({ id: set.id, files: [{ path: 'set.json', sha256: list }] });
  const { files: listed } = jsonOf<SetManifest>(manifest);
  const parts = new Map<string, { pack: string; sha256: string; path: string }[]>();
  for (const { path, parts: pieces } of listed) {
    const file = files.find((each) => each.path === path);
    if (!file) throw new Violation(`The set ${set.id} has ${path}, which was not in the draft.`);
    let at = 0;
    for (const { bytes } of pieces) {
      const content = file.content.subarray(at, at + bytes);
      model.hold(
        content,
        'blob',
        file.markers.filter((marker) => content.includes(marker)),
      );
      at += bytes;
    }
    world.check(at === file.content.length, `The parts of ${path} in the set ${set.id} have ${at} bytes.`);
    parts.set(path, pieces);
  }
  for (const { pack, path, sha256 } of [...parts.values()].flat()) {
    const known = model.packs.find(({ id }) => id === pack);
    if (known) known.files.push({ path, sha256 });
    else model.packs.push({ id: pack, files: [{ path, sha256 }] });
  }
  model.sets.push({
    id: set.id,
    files: new Map(files.map(({ path, content }) => [path, content])),
    parts: new Map([...parts].map(([path, pieces]) => [path, pieces.map(({ sha256 }) => sha256)])),
    packs: new Set([...parts.values()].flat().map(({ pack }) => pack)),
    list,
  });
}
