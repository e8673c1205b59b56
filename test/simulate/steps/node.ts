import { jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { requireDisk } from '../invariants.ts';
import type { World } from '../world.ts';
import type { StepKind } from './step.ts';

/** What a restart must not change. */
const LISTS = [
  '/api/packs?limit=500',
  '/api/studies?limit=500',
  '/api/tree',
  '/api/sources?limit=500',
  '/api/events?limit=500',
  '/api/findings?limit=500',
  '/api/cases?limit=500',
  '/api/withheld?limit=500',
  '/api/released?limit=500',
  '/api/damages?limit=500',
  '/api/ledger?limit=500',
  '/manage/drafts?limit=500',
  '/manage/handed-in?limit=500',
  '/manage/peers',
  '/manage/settings',
];

async function stateOf({ node }: World): Promise<Map<string, string>> {
  const state = new Map<string, string>();
  for (const path of LISTS) state.set(path, (await node.asOwner('GET', path)).body.toString());
  return state;
}

const NOISE = /"is_noise":(null|true|false)/g;

/** Whether a list is the same, but for changes that were judged meanwhile: that is done in the background. */
function isSame(before: string, after: string): boolean {
  const [marks, later] = [before, after].map((body) => body.match(NOISE) ?? []);
  const isKept = marks?.every((mark, index) => mark.endsWith('null') || mark === later?.[index]) ?? false;
  return isKept && before.replaceAll(NOISE, '') === after.replaceAll(NOISE, '');
}

async function restart(world: World): Promise<string> {
  const before = await stateOf(world);
  await requireDisk(world);
  for (const [path, body] of await stateOf(world))
    world.check(
      isSame(before.get(path) ?? '', body),
      () => `${path} is another after a restart: ${before.get(path)} ${body}`,
    );
  return 'the same';
}

export const nodeSteps = {
  restart: { weight: 2, run: (world) => restart(world) },
  travel: {
    weight: 3,
    run: async ({ clock, model, node }, dice) => {
      const hours = dice.chance(0.2) ? -dice.between(1, 3) : dice.between(1, 20);
      clock.move(hours * 3_600_000);
      // What is recorded keeps the node's times in order.
      void model;
      const { clock_behind_seconds } = jsonOf<{ clock_behind_seconds: number }>(
        await node.asVisitor('/api/status', { mayFail: [503] }),
      );
      return `${hours} hours, ${clock_behind_seconds} seconds behind`;
    },
  },
  killBetweenSteps: {
    weight: 1,
    run: (world, dice: Dice) => world.killed(1_000_000 + dice.int(2), async () => {}),
  },
} satisfies Record<string, StepKind>;
