import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery } from '../../../shared/alerts/alert.ts';
import { jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import type { World } from '../world.ts';
import { collectionSteps, isWatching } from './collection.ts';
import type { StepKind } from './step.ts';

/** Messages are composed in the background, and sent one after another. */
const DELIVERED_WITHIN_MS = 20_000;
/** When nothing waits for this long, the events were matched. */
const QUIET_MS = 400;
const NAP_MS = 20;
/** Letters of a marker. */
const BEGINNING = 8;

function newCondition({ model }: World, dice: Dice): object {
  // A rule is the owner's own words: only the beginning of a marker, by which a word matches.
  const markers = [...model.bytes.values()].flatMap((bytes) => bytes.markers);
  const words = [...new Set(markers.map((each) => each.slice(0, BEGINNING)))];
  return dice.one(
    [
      {},
      {},
      { event_types: ['changed', 'first_seen'] },
      { words: dice.some(words, 3) },
      { not_noise: true },
      { passage_changed: true },
      { drift: true, damaged: true, failures: true },
    ].filter(({ words: given }: { words?: readonly string[] }) => given?.length !== 0),
  );
}

async function waiting({ node, clock }: World): Promise<Delivery[]> {
  const answer = await node.asOwner('GET', '/manage/alerts/deliveries?limit=500');
  const isDue = (at: string | null) => at === null || Date.parse(at) <= clock.now();
  return jsonOf<{ items: Delivery[] }>(answer).items.filter(
    ({ state, next_attempt_at: at }) => state === 'sending' || (state === 'waiting' && isDue(at)),
  );
}

export const alertSteps = {
  alert: {
    weight: 3,
    isPlain: true,
    can: ({ model }) => model.alerts.length < 4,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const json = {
        name: `Alert ${dice.letters(5)}`,
        when: newCondition(world, dice),
        to: [await world.webhook()],
        every: dice.one(['at_once', 'at_once', 'hourly']),
      };
      const answer = await node.asOwner('POST', '/manage/alerts', { json });
      require(answer, 201);
      const { id } = jsonOf<{ id: string }>(answer);
      model.alerts.push(id);
      return `${id} ${JSON.stringify(json.when)}`;
    },
  },
  /** Collects, so that there is something to say. What is due is sent before the step ends. */
  deliver: {
    weight: 5,
    can: (world) => world.model.alerts.length > 0 && isWatching(world),
    run: async (world, dice) => {
      const before = world.model.messages.length;
      const said = await collectionSteps.collect.run(world, dice);
      for (let quiet = 0, waited = 0; quiet < QUIET_MS && waited < DELIVERED_WITHIN_MS; waited += NAP_MS) {
        await pause(NAP_MS);
        quiet = (await waiting(world)).length === 0 ? quiet + NAP_MS : 0;
      }
      return `${said}: ${world.model.messages.length - before} messages, ${(await waiting(world)).length} wait`;
    },
  },
  removeAlert: {
    weight: 1,
    can: ({ model }) => model.alerts.length > 1,
    run: async ({ node, model, require }, dice) => {
      const id = dice.one(model.alerts);
      require(await node.asOwner('DELETE', `/manage/alerts/${id}`), 204);
      model.alerts = model.alerts.filter((each) => each !== id);
      return id;
    },
  },
} satisfies Record<string, StepKind>;
