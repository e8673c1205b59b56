import { DEFAULT_EVERY_MINUTES } from '../../../shared/node/copy.ts';
import {
  allConditions,
  type Condition,
  deleteCondition,
  hasNotice,
  type Notice,
  putCondition,
} from '../../store/sqlite/node/alerts/notices.ts';
import { allCopies } from '../../store/sqlite/node/copies.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import type { Match } from '../queue.ts';
import type { CompiledRule } from './compiledRule.ts';
import type { StateServices } from './matchStates.ts';

/** A copy has fallen behind if it misses entries, and was not synced for three of its intervals and an hour at least. */
const BEHIND_INTERVALS = 3;
const BEHIND_AT_LEAST_MS = 3_600_000;
const MS_PER_MINUTE = 60_000;

/** A current state of the node, with the text of its alert. */
interface Current {
  name: string;
  asks: 'disk' | 'copy_behind';
  title: string;
  text: string;
  path: string;
}

/** Whether a rule needs states that have no record and must therefore be checked at intervals. */
export function asksForConditions(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ rule }) => rule.when.disk || rule.when.copy_behind);
}

/** Records which states began or ended since the last check, and returns the matches of current states. */
export async function matchConditions(
  services: StateServices,
  rules: readonly CompiledRule[],
  { write, instant }: { write: Store['write']; instant: () => string },
): Promise<Match[]> {
  const { read } = services.store;
  if (!asksForConditions(rules)) return [];
  const current = [...fullDisk(services), ...copiesBehind(services)];
  const known = allConditions(read);
  const ended = known.filter(({ name }) => !current.some((state) => state.name === name));
  const begun = current.filter(({ name }) => !known.some((state) => state.name === name));
  const since = instant();
  if (ended.length + begun.length > 0)
    await write((database) => {
      for (const { name } of ended) deleteCondition(database, name);
      for (const { name } of begun) putCondition(database, { name, since });
    });
  const holding = [...known, ...begun.map(({ name }): Condition => ({ name, since }))];
  return current.flatMap((state) => {
    const began = holding.find(({ name }) => name === state.name)?.since ?? since;
    const subject = `${state.name}:${began}`;
    return rules
      .filter(({ rule }) => rule.when[state.asks] && !hasNotice(read, rule.id, subject))
      .map(({ rule }) => ({ rule: rule.id, subject, notice: noticeOf(state, began) }));
  });
}

function noticeOf({ asks, title, text, path }: Current, at: string): Notice {
  return { kind: asks, at, event: null, title, text, path, source: null };
}

function fullDisk({ store, settings }: StateServices): Current[] {
  const limit = reachedStorageLimit(store, settings(), 0);
  if (limit === null) return [];
  const isFull = limit === 'data_cap_reached';
  return [
    {
      name: `disk:${limit}`,
      asks: 'disk',
      title: isFull ? 'The archive is full' : 'The disk is nearly full',
      text: isFull
        ? 'Nothing new is stored. Raise the size limit of the archive in the settings.'
        : 'Nothing new is stored. Free space on the disk of the archive.',
      path: '/settings',
    },
  ];
}

function copiesBehind({ store: { read, clock } }: StateServices): Current[] {
  const newest = lastEntry(read)?.seq ?? 0;
  const now = clock.now();
  return allCopies(read).flatMap(
    ({ id, target, synced_size, synced_at, added_at, every_minutes, last_error }) => {
      const tolerance = Math.max(
        BEHIND_AT_LEAST_MS,
        BEHIND_INTERVALS * (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE,
      );
      const behind = newest - synced_size;
      if (behind <= 0 || now - Date.parse(synced_at ?? added_at) < tolerance) return [];
      const entries = behind === 1 ? '1 ledger entry' : `${behind.toLocaleString('en-US')} ledger entries`;
      return [
        {
          name: `copy_behind:${id}`,
          asks: 'copy_behind' as const,
          title: `The copy in ${target} falls behind`,
          text: `It misses ${entries}.${last_error === null ? '' : ` ${last_error}`}`,
          path: '/settings#copies',
        },
      ];
    },
  );
}
