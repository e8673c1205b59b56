import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../renderer/inlineScripts.ts';
import type { StoreAddress } from '../support/network/objectStore.ts';
import type { Figures } from './client.ts';
import { Dice } from './dice.ts';
import { MOST, requireAll, requireDisk, requireMessages, requirePublicCopies, SAMPLE } from './invariants.ts';
import { noteEndedWords } from './steps/peers.ts';
import { STEP_NAMES, STEPS, type StepName } from './steps/steps.ts';
import { World, type WorldOptions } from './world.ts';

/** A step as it is written down: it does the same again in an archive of the same state. */
export interface PlannedStep {
  kind: StepName;
  seed: number;
  /** The number of the durable call at which the node is killed. */
  kill?: number;
  /** The number of the durable call from which on the disk fails. */
  fail?: number;
}

export interface RunResult {
  seed: number;
  steps: PlannedStep[];
  /** What each step did. */
  log: string[];
  /** What is wrong, if anything is. */
  fault: Error | undefined;
  messages: readonly string[];
}

/** What several runs share. */
export interface Surroundings extends WorldOptions {
  figures: Figures;
}

const EVERY = 10;
const KILLED = 0.05;
const FAILING = 0.05;

export function newFigures(): Figures {
  return { steps: 0, requests: 0, kills: 0, diskFaults: 0, assertions: 0 };
}

/** Builds what evidence files contain into a folder. */
export async function surround(folder: string, store?: StoreAddress): Promise<Surroundings> {
  await mkdir(join(folder, 'evidence'), { recursive: true });
  await writeFile(join(folder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(folder, EVIDENCE_STYLE), await readEvidenceStyle());
  return { figures: newFigures(), rendererFolder: folder, store, hasBrowser: false };
}

/** Runs so many steps that follow from a seed, or these. Everything that must hold is looked at after every ten and at the end. */
export async function run(
  seed: number,
  count: number | readonly PlannedStep[],
  { figures, ...options }: Surroundings,
): Promise<RunResult> {
  const dice = new Dice(seed);
  const world = await World.open(dice.seed(), figures, options);
  const steps: PlannedStep[] = [];
  const log: string[] = [];
  let fault: Error | undefined;
  try {
    const total = typeof count === 'number' ? count : count.length;
    for (let number = 0; number < total; number += 1) {
      const step = typeof count === 'number' ? plan(world, dice) : count[number];
      if (!step) break;
      steps.push(step);
      log.push(await take(world, step));
      figures.steps += 1;
      if ((number + 1) % EVERY === 0) {
        await requireAll(world, new Dice(step.seed), SAMPLE);
        await requirePublicCopies(world);
        requireMessages(world);
      }
    }
    await requireDisk(world);
    await requireAll(world, new Dice(seed), MOST);
    await requirePublicCopies(world);
    requireMessages(world);
  } catch (error) {
    fault = error instanceof Error ? error : new Error(String(error));
  } finally {
    await world.close();
  }
  return { seed, steps, log, fault, messages: world.messages };
}

/** Chooses the next step from those for which there is what they need. */
function plan(world: World, dice: Dice): PlannedStep {
  const possible = STEP_NAMES.filter((name) => STEPS[name].can?.(world) ?? true);
  let left = dice.int(possible.reduce((sum, name) => sum + STEPS[name].weight, 0));
  const kind = possible.find((name) => (left -= STEPS[name].weight) < 0) ?? 'publish';
  const step: PlannedStep = { kind, seed: dice.seed() };
  if (!STEPS[kind].isPlain) return step;
  const chance = dice.int(1_000) / 1_000;
  if (chance < KILLED) return { ...step, kill: dice.between(1, 12) };
  if (chance < KILLED + FAILING) return { ...step, fail: dice.between(1, 8) };
  return step;
}

/** Does a step, if there is what it needs: others may have been left out. */
async function take(world: World, { kind, seed, kill, fail }: PlannedStep): Promise<string> {
  const step = STEPS[kind];
  if (step.can && !step.can(world)) return `${kind}: not possible here`;
  world.clock.move(1_000);
  world.beginAttempt();
  const dice = new Dice(seed);
  let said = '';
  const use = async () => {
    said = await step.run(world, dice);
  };
  if (kill !== undefined) said = `${await world.killed(kill, use)} ${said}`;
  else if (fail !== undefined)
    said = `${await world.onFailingDisk({ at: fail, does: fail % 2 === 0 ? 'ENOSPC' : 'EIO', times: 2 }, use)} ${said}`;
  else await use();
  if (kill !== undefined || fail !== undefined) await world.settleAttempt();
  await noteEndedWords(world, kill !== undefined || fail !== undefined);
  world.model.noteHidden();
  return `${kind}: ${said}`;
}
