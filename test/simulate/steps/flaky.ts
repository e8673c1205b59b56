import { ERRORS, SILENT } from '../../support/copies/flakyTarget.ts';
import { textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import type { World } from '../world.ts';
import { sync } from './copies.ts';
import type { StepKind } from './step.ts';

const JOBS = ['sync', 'sync', 'sync', 'check', 'drill'];
/** What an owner reads when a place of a copy failed. */
const FAILED = [502, 503, 507];

function newFault(dice: Dice): Parameters<World['copiesPlan']['begin']>[0] {
  if (dice.chance(0.6))
    return {
      call: dice.between(1, 30),
      how: dice.one(ERRORS),
      late: dice.chance(0.3),
      isLasting: dice.chance(0.3),
    };
  const how = dice.one([...ERRORS, ...SILENT]);
  return { body: dice.one(['read', 'write']), turn: dice.between(1, 8), byte: dice.int(500), how };
}

export const flakySteps = {
  /** The place of a copy fails: its disk, its network or its store. Then it does not, and all is well. */
  failingCopy: {
    weight: 4,
    can: ({ model }) => model.copies.length > 0,
    run: async (world, dice) => {
      const { node, model, copiesPlan, check } = world;
      const copy = dice.one(model.copies);
      const what = dice.one(copy.isSynced ? JOBS : ['sync']);
      copiesPlan.begin(newFault(dice));
      const answer = await node.asOwner('POST', `/manage/copies/${copy.id}/${what}?wait=true`, {
        mayFail: FAILED,
      });
      const { hit } = copiesPlan;
      copiesPlan.begin();
      check(answer.status < 500 || FAILED.includes(answer.status), () => `${what}: ${textOf(answer)}`);
      await sync(world, copy);
      const again = await node.asOwner('POST', `/manage/copies/${copy.id}/check?wait=true`);
      check(again.status === 200, () => `A check after a fault: ${again.status} ${textOf(again)}`);
      // What a fault wrote wrongly, the first check may find and send again.
      const last = await node.asOwner('POST', `/manage/copies/${copy.id}/check?wait=true`);
      check(last.body.includes('"ok":true'), () => `A second check after a fault: ${textOf(last)}`);
      return `${what}: ${answer.status}, hit ${hit ?? 'nothing'}`;
    },
  },
} satisfies Record<string, StepKind>;
