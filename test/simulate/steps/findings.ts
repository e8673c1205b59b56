import { codeOf, jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { newMarker } from '../markers.ts';
import type { World } from '../world.ts';
import type { StepKind } from './step.ts';

const objectsOf = ({ model }: World) => [...model.bytes.values()].filter(({ kind }) => kind === 'object');
const isTargeted = (world: World) =>
  world.model.events.length + world.model.packs.length + objectsOf(world).length > 0;

interface Target {
  kind: string;
  id: string;
}

function newTarget(world: World, dice: Dice): Target {
  const { model } = world;
  return dice.one([
    ...model.events.map(({ id }) => ({ kind: 'event', id: String(id) })),
    ...model.packs.map(({ id }) => ({ kind: 'pack', id })),
    ...objectsOf(world).map(({ sha256 }) => ({ kind: 'object', id: sha256 })),
  ]);
}

/** The digests of a target: of a set those of its parts, too. */
function digestsOf({ model }: World, { kind, id }: Target): string[] {
  if (kind === 'object') return [id];
  const version = model.events.find((event) => String(event.id) === id)?.sha256;
  const set = model.sets.find((each) => each.id === id);
  const files = model.packs.find((pack) => pack.id === id)?.files ?? [];
  return kind === 'event'
    ? [version ?? []].flat()
    : [...files.map(({ sha256 }) => sha256), ...(set ? [set.list, ...[...set.parts.values()].flat()] : [])];
}

function newItems({ model }: World, dice: Dice): object[] {
  const all = [
    ...model.events.map(({ id }) => ({ kind: 'event', id: String(id) })),
    ...model.packs.map(({ id }) => ({ kind: 'pack', id })),
    ...model.findings.map(({ id }) => ({ kind: 'finding', id })),
  ];
  return dice.some(all, dice.between(1, 3)).map((item) => ({ ...item, note: `Note ${dice.letters(5)}` }));
}

export const findingSteps = {
  /** Quotes words without saying in which of the objects of its target they are. */
  quoteWithoutObject: {
    weight: 3,
    isPlain: true,
    can: (world) => isTargeted(world) || world.model.sets.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const marker = newMarker(dice);
      const isOfSet = model.sets.length > 0 && (dice.chance(0.3) || !isTargeted(world));
      const target = isOfSet ? { kind: 'pack', id: dice.one(model.sets).id } : newTarget(world, dice);
      const json = {
        target,
        text: `Finding ${dice.letters(10)}`,
        passage: { sha256: null, exact: marker },
      };
      const answer = await node.asOwner('POST', '/manage/findings', { json });
      if (codeOf(answer) === 'unknown_target') return 'refused';
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.quotations.push({ marker, digests: digestsOf(world, target) });
      model.findings.push({ id, target });
      model.keep(`/api/findings/${id}`, { id, text: json.text });
      return id;
    },
  },
  finding: {
    weight: 3,
    isPlain: true,
    can: isTargeted,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const earlier = dice.chance(0.2) ? dice.pick(model.findings) : undefined;
      const target = earlier?.target ?? newTarget(world, dice);
      const json = {
        target,
        text: `Finding ${dice.letters(10)}`,
        tags: [dice.letters(4)],
        supersedes: earlier?.id ?? null,
      };
      const answer = await node.asOwner('POST', '/manage/findings', { json });
      if (['finding_superseded', 'unknown_target'].includes(codeOf(answer) ?? '')) return 'refused';
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.findings.push({ id, target });
      model.keep(`/api/findings/${id}`, { id, text: json.text });
      return id;
    },
  },
  withdraw: {
    weight: 1,
    isPlain: true,
    can: ({ model }) => model.findings.length > 0,
    run: async ({ node, model, require }, dice) => {
      const { id } = dice.one(model.findings);
      const answer = await node.asOwner('POST', `/manage/findings/${id}/withdraw`, {
        json: { reason: 'Misread.' },
      });
      if (codeOf(answer) === 'finding_superseded') return 'was superseded';
      require(answer, 200, 201);
      return id;
    },
  },
  seal: {
    weight: 3,
    isPlain: true,
    can: isTargeted,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const marker = newMarker(dice);
      const target = newTarget(world, dice);
      model.secrets.set(marker, { marker, why: 'a sealed finding' });
      const answer = await node.asOwner('POST', '/manage/findings', {
        json: { target, text: `Sealed ${marker}`, sealed: true },
      });
      if (codeOf(answer) === 'unknown_target') return 'refused';
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.sealed.push({ id, marker, target });
      return id;
    },
  },
  reveal: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.sealed.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const sealed = dice.one(model.sealed);
      const { id, marker, target } = sealed;
      const note = () => {
        model.sealed.splice(model.sealed.indexOf(sealed), 1);
        model.secrets.delete(marker);
        model.findings.push({ id, target });
        model.keep(`/api/findings/${id}`, { id, text: `Sealed ${marker}` });
      };
      world.attempt = async () => {
        if ((await world.node.asVisitor(`/api/findings/${id}`)).body.includes(marker)) note();
      };
      const answer = await node.asOwner('POST', `/manage/findings/${id}/reveal`);
      if (codeOf(answer) === 'sealed_unreadable' && !world.hasOwnerKey) return 'its key is not here';
      require(answer, 201);
      note();
      return id;
    },
  },
  newCase: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.events.length + model.packs.length + model.findings.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const json = { title: `Case ${dice.letters(5)}`, items: newItems(world, dice) };
      const answer = await node.asOwner('POST', '/manage/cases', { json });
      require(answer, 201);
      const { id, revision } = jsonOf<{ id: string; revision: number }>(answer);
      model.cases.push({ id, revision });
      model.keep(`/api/cases/${id}`, { id, title: json.title, revision });
      return id;
    },
  },
  changeCase: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.cases.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const own = dice.one(model.cases);
      const path = `/api/cases/${own.id}`;
      const title = `Case ${dice.letters(6)}`;
      world.attempt = async () => {
        const now = jsonOf<{ title: string; revision: number }>(await world.node.asVisitor(path));
        world.check(now.revision === own.revision || now.title === title, `${path} has another revision.`);
        own.revision = now.revision;
        model.keep(path, { id: own.id, title: now.title, revision: now.revision });
      };
      const json = { revision: own.revision, title, items: newItems(world, dice) };
      const answer = await node.asOwner('PATCH', `/manage/cases/${own.id}`, { json });
      require(answer, 200);
      own.revision = jsonOf<{ revision: number }>(answer).revision;
      model.keep(path, { id: own.id, title, revision: own.revision });
      return own.id;
    },
  },
} satisfies Record<string, StepKind>;
