import { join } from 'node:path';
import { ChangeReader } from '../../server/alerts/changeReader.ts';
import { Matcher } from '../../server/alerts/matching/matcher.ts';
import { statement } from '../../server/store/sqlite/engine/open.ts';
import { type AlertRule, putRule } from '../../server/store/sqlite/node/alerts.ts';
import { openStore } from '../../server/store/store.ts';
import type { CollectionResult } from '../../shared/collection/collection.ts';
import { EVENT_TYPES } from '../../shared/collection/event.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { fillTimeline, instantOf } from './support/filledTimeline.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { startWeb } from './support/runningWeb.ts';

const EVENTS = scaled(10_000, 20);
const RULES = 50;
const MAX_MATCHING_MS = 2_000;
const SOURCES = scaled(2_000, 10);
const PAGE_BYTES = 6_000;
const ROUNDS = scaled(20, 2);
/** A round with rules may take this much longer than one without. */
const MAX_SLOWDOWN = 1.05;
const COLLECTION = { per_host_pause_ms: 0, per_host_concurrency: 32, collection_concurrency: 32 };

/** Compares 10,000 events with 50 rules, and times rounds of the collector with and without rules. */
export const alerts: Bench = {
  name: 'alerts',
  async run(folder): Promise<Measurement[]> {
    return [await matching(join(folder, 'timeline')), await rounds(folder)];
  },
};

async function matching(folder: string): Promise<Measurement> {
  await fillTimeline(folder, { events: EVENTS, sources: 1_000 });
  const store = await openStore({ folder, clock: systemClock });
  try {
    await store.write((database) => {
      for (let number = 0; number < RULES; number += 1) putRule(database, ruleOf(number));
    });
    const unused = () => Promise.reject(new Error('No rule asks for the bytes.'));
    const reader = new ChangeReader({
      store,
      noise: { check: unused },
      diffs: { comparisonOf: unused, comparisonWith: unused },
      passages: { change: unused, hasWords: unused },
    });
    const matcher = new Matcher({ store, settings: () => DEFAULT_SETTINGS, reader, write: store.write });
    const ms = await timed(() => matcher.poll(new AbortController().signal));
    const count = (table: string) =>
      statement<number>(store.read, `SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    return {
      what: `${EVENTS} events through ${RULES} rules`,
      ours: `${Math.round(ms)} ms, ${count('alert_notices')} matches, ${count('alert_deliveries')} messages`,
      target: `under ${MAX_MATCHING_MS / 1000} s`,
      holds: ms < MAX_MATCHING_MS,
    };
  } finally {
    await store.close();
  }
}

/** Rules of every kind. Each matches some events. */
function ruleOf(number: number): AlertRule {
  const type = EVENT_TYPES[number % EVENT_TYPES.length] ?? 'changed';
  const tags = [`tag${number * 4}`, `tag${number * 4 + 1}`];
  const whens = [
    { event_types: [type], tags },
    { agencies: [`Agency ${number}`] },
    { tags, failures: true, disk: true },
    { event_types: [type], agencies: [`Agency ${number}`, `Agency ${number - 1}`] },
  ];
  return {
    id: `al_${String(number).padStart(20, '0')}`,
    name: `Rule ${number}`,
    when: whens[number % whens.length] ?? {},
    to: [{ kind: 'desktop' }],
    every: 'at_once',
    paused: false,
    created_at: instantOf(0),
    active_since: instantOf(0),
    after_event: 0,
    after_entry: 0,
    began_later: {},
  };
}

/** Two nodes with the same sources take turns, so that both meet the same load of the machine. */
async function rounds(folder: string): Promise<Measurement> {
  const web = await startWeb(PAGE_BYTES);
  const nodes = [
    await watchingNode(join(folder, 'without'), web.url),
    await watchingNode(join(folder, 'with'), web.url),
  ];
  const [without, withRules] = nodes;
  try {
    for (let number = 0; number < RULES; number += 1)
      await send(withRules, 'POST', '/manage/alerts', {
        name: `Rule ${number}`,
        when: {
          event_types: ['changed', 'disappeared'],
          tags: [`tag${number}`],
          words: ['fee'],
          failures: true,
        },
        to: [{ kind: 'desktop' }],
      });
    const times: [number[], number[]] = [[], []];
    for (let round = 0; round <= ROUNDS; round += 1) {
      // In turns, so that neither always follows the other.
      const isSwapped = round % 2 === 1;
      const early = await timed(() => collect(isSwapped ? withRules : without));
      const late = await timed(() => collect(isSwapped ? without : withRules));
      const [left, right] = isSwapped ? [late, early] : [early, late];
      // The first one stores every page.
      if (round === 0) continue;
      times[0].push(left);
      times[1].push(right);
    }
    const ratio = median(times[1]) / median(times[0]);
    return {
      what: `a round of ${SOURCES} sources with ${RULES} rules`,
      ours: `${Math.round(median(times[1]))} ms`,
      peer: `without rules ${Math.round(median(times[0]))} ms`,
      ratio,
      target: `at most ${MAX_SLOWDOWN} times as long`,
      holds: ratio <= MAX_SLOWDOWN,
    };
  } finally {
    for (const node of nodes) await node?.stop();
    await web.stop();
  }
}

async function watchingNode(folder: string, url: string): Promise<OwnerNode> {
  const node = await startNode(folder);
  await send(node, 'PATCH', '/manage/settings', COLLECTION);
  const urls = Array.from({ length: SOURCES }, (_, number) => `${url}/report-${number}`);
  await send(node, 'POST', '/manage/sources/import', `${urls.join('\n')}\n`);
  return node;
}

async function collect(node: OwnerNode | undefined): Promise<void> {
  const { failed } = (await send(node, 'POST', '/manage/collections?wait=true', {})) as CollectionResult;
  if (failed > 0) throw new Error(`${failed} checks failed.`);
}

async function send(
  node: OwnerNode | undefined,
  method: string,
  path: string,
  body: object | string,
): Promise<unknown> {
  const isText = typeof body === 'string';
  const answer = await fetch(`${node?.url}${path}`, {
    method,
    body: isText ? body : JSON.stringify(body),
    headers: { ...node?.headers, 'Content-Type': isText ? 'text/plain' : 'application/json' },
  });
  if (!answer.ok) throw new Error(`${method} ${path} was refused: ${await answer.text()}`);
  return answer.json();
}
