import { alertSteps } from './alerts.ts';
import { archiveSteps } from './archive.ts';
import { browserSteps } from './browser.ts';
import { collectionSteps } from './collection.ts';
import { comingAgainSteps } from './comingAgain.ts';
import { copySteps } from './copies.ts';
import { damageSteps } from './damage.ts';
import { findingSteps } from './findings.ts';
import { flakySteps } from './flaky.ts';
import { nodeSteps } from './node.ts';
import { packSteps } from './packs.ts';
import { peerSteps } from './peers.ts';
import { proofSteps } from './proof.ts';
import { quotingSteps } from './quoting.ts';
import { readerSteps } from './readers.ts';
import { setSteps } from './sets.ts';
import type { StepKind } from './step.ts';
import { wireSteps } from './wire.ts';
import { withholdingSteps } from './withholding.ts';

const ALL = {
  ...packSteps,
  ...collectionSteps,
  ...withholdingSteps,
  ...quotingSteps,
  ...comingAgainSteps,
  ...alertSteps,
  ...findingSteps,
  ...nodeSteps,
  ...copySteps,
  ...damageSteps,
  ...peerSteps,
  ...wireSteps,
  ...flakySteps,
  ...proofSteps,
  ...readerSteps,
  ...browserSteps,
  ...archiveSteps,
  ...setSteps,
};

export type StepName = keyof typeof ALL;
/** Every kind of step. */
export const STEPS: Readonly<Record<StepName, StepKind>> = ALL;
export const STEP_NAMES = Object.keys(ALL) as StepName[];
