import { openCollection } from '../collection/collection.ts';
import { openDerived } from '../collection/derived/derived.ts';
import { CURRENT_TEXT_TOOLS } from '../collection/derived/process/tasks.ts';
import { Diffs } from '../collection/diff/diffs.ts';
import { Summaries } from '../collection/diff/summaries.ts';
import { openNoise } from '../collection/noise/noise.ts';
import type { NodeConfig } from '../config.ts';
import { PassageAnchors } from '../findings/passages.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens the collector, and what derives texts, diffs and noise marks from what it collected. */
export function openCollecting(
  { startChild, startBrowser, idleMs, quickMs, network, networkPause, batteryLow }: NodeConfig,
  { store, settings, jobs, log }: SharedServices,
) {
  const derived = openDerived({ store, log, jobs, startChild, idleMs, quickMs });
  const { deriver } = derived;
  const diffs = new Diffs(store, deriver);
  return {
    derived,
    collection: openCollection({
      store,
      settings,
      jobs,
      log,
      deriver,
      network,
      startBrowser,
      networkPause,
      batteryLow,
    }),
    diffs,
    summaries: new Summaries({ store, diffs, log, idleMs }),
    anchors: new PassageAnchors({
      store,
      log,
      tools: CURRENT_TEXT_TOOLS,
      passages: derived.passages,
    }),
    noise: openNoise({ store, deriver, diffs, jobs, log, idleMs }),
  };
}
