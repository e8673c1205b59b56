import { parseArgs } from 'node:util';
import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { EventType } from '../../../shared/collection/event.ts';
import { failureWords } from '../../../shared/collection/failureWords.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { archiveFolder, type Command, type ExitCode, print, printError } from '../command.ts';
import { escapeForTerminal } from '../escapeForTerminal.ts';
import { NODE_OPTIONS, optionsHelp } from '../options.ts';
import { type Collector, openCollector } from './collector.ts';

const HELP = `Usage: strongroom check [options]

Checks every source that is not paused and prints the result of each: seen for the first time, changed, recovered,
unchanged, or failed with the reason. If a node has the data folder open, that node checks the sources.

${optionsHelp(NODE_OPTIONS)}

Exit code: 0 if every check succeeded, 1 if any failed, 2 if the sources could not be checked.`;

/** The result of one check of a source. */
interface Finding {
  id: string;
  url: string;
  outcome: 'first_seen' | 'changed' | 'unchanged' | 'failed';
  /** The events of this check, oldest first; they include `recovered`, `unavailable` and `disappeared`. */
  events: EventType[];
  error: string | null;
  status: number | null;
}

export const check: Command = {
  name: 'check',
  summary: 'check all sources now and print the results',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: NODE_OPTIONS });
    archiveFolder(values.data);
    const collector = await openCollector(values);
    try {
      const { result, findings } = await checkAll(collector);
      if (values.json) print(JSON.stringify({ ...result, sources: findings }));
      else printFindings(result, findings);
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

const OUTCOME_WIDTH = 'first seen'.length;

function printFindings(result: CollectionResult, findings: readonly Finding[]): void {
  for (const { outcome, url, events, error, status } of findings) {
    const also = events.filter((type) => type !== outcome).map((type) => `, ${type.replace('_', ' ')}`);
    const reason = error === null ? '' : `: ${failureWords(error, status)}`;
    const label = outcome.replace('_', ' ').padEnd(OUTCOME_WIDTH);
    print(`${label}  ${escapeForTerminal(url)}${also.join('')}${reason}`);
  }
  if (result.observer_offline)
    printError('No host could be reached: this machine seems to have no network connection.');
  print(
    `${result.checked} checked: ${result.changed} new or changed, ${result.unchanged} unchanged, ${result.failed} failed.`,
  );
}
