import { parseArgs } from 'node:util';
import type { CollectionResult } from '../../shared/collection.ts';
import type { EventType } from '../../shared/event.ts';
import { failureWords } from '../../shared/failureWords.ts';
import type { WatchedSource } from '../../shared/source.ts';
import { type Collector, openCollector } from './collector.ts';
import {
  archiveFolder,
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
} from './command.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom check [options]

Checks every source that is not paused, now, and prints what it found: which were seen for the first time, changed,
came back, are unchanged, or failed and why. Where a node has the data folder open, that node checks them.

  --data DIR       the data folder (default: ./strongroom-data)
  --url URL        where the node that has it open listens, where its data folder does not tell
  --token-file F   the owner's token, where it is kept elsewhere
  --json           one JSON object instead of sentences

Ends with 0 if every source that was checked gave an object, 1 if any failed, 2 if it could not be done.`;

/** What one check of a source found. */
interface Finding {
  id: string;
  url: string;
  outcome: 'first_seen' | 'changed' | 'unchanged' | 'failed';
  /** What became of it, oldest first; also `recovered`, `unavailable` and `disappeared`. */
  events: EventType[];
  error: string | null;
  status: number | null;
}

export const check: Command = {
  name: 'check',
  summary: 'check all sources now and print what was found',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        data: DATA_OPTION,
        url: { type: 'string' },
        'token-file': { type: 'string' },
        json: JSON_OPTION,
      },
    });
    archiveFolder(values.data);
    const collector = await openCollector(values);
    try {
      const { result, findings } = await checkAll(collector);
      if (values.json) print(JSON.stringify({ ...result, sources: findings }));
      else tell(result, findings);
      return result.failed > 0 || result.observer_offline ? 1 : 0;
    } finally {
      await collector.close();
    }
  },
};

async function checkAll(collector: Collector): Promise<{ result: CollectionResult; findings: Finding[] }> {
  const before = new Map((await collector.sources()).map(({ id, last_checked_at }) => [id, last_checked_at]));
  const result = await collector.collect();
  const events = new Map<string, EventType[]>();
  for (const id of result.events) {
    const { source, event_type } = await collector.event(id);
    events.set(source.id, [...(events.get(source.id) ?? []), event_type]);
  }
  const checked = (await collector.sources()).filter(
    ({ id, last_checked_at }) => last_checked_at !== (before.get(id) ?? null),
  );
  return {
    result,
    findings: checked.reverse().map((source) => findingOf(source, events.get(source.id) ?? [])),
  };
}

function findingOf(source: WatchedSource, events: EventType[]): Finding {
  const { id, url, last_error: error, last_status: status } = source;
  const version = events.find((type) => type === 'first_seen' || type === 'changed');
  const outcome = error === null ? ((version as Finding['outcome'] | undefined) ?? 'unchanged') : 'failed';
  return { id, url, outcome, events, error, status };
}

const WIDTH = 'first seen'.length;

function tell(result: CollectionResult, findings: readonly Finding[]): void {
  for (const { outcome, url, events, error, status } of findings) {
    const also = events.filter((type) => type !== outcome).map((type) => `, ${type.replace('_', ' ')}`);
    const why = error === null ? '' : `: ${failureWords(error, status)}`;
    print(`${outcome.replace('_', ' ').padEnd(WIDTH)}  ${shown(url)}${also.join('')}${why}`);
  }
  if (result.observer_offline)
    printError('No host could be reached, so the fault is taken to be this machine’s own network.');
  print(
    `${result.checked} checked: ${result.changed} new or changed, ${result.unchanged} unchanged, ${result.failed} failed.`,
  );
}
