import { type Conditions, conditionsOf, watchesEvents } from '../../../shared/alerts/alert.ts';
import type { Event, LabelFilter, PageLabel } from '../../../shared/collection/event.ts';
import { selectorOf, type Watch } from '../../../shared/collection/noise.ts';
import { EXPIRY_WORDS } from '../../../shared/collection/profile.ts';
import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import type { Damage } from '../../../shared/ledger/fixity.ts';
import { DEFAULT_EVERY_MINUTES, inNoCopySentence, restoreDrillSchema } from '../../../shared/node/copy.ts';
import { peerRewriteSchema } from '../../../shared/node/peer.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { preparedWords, type Words } from '../../collection/noise/words.ts';
import { expiredProfiles } from '../../store/sqlite/collection/profiles.ts';
import {
  failingSources,
  sourcesWithExpiredLogin,
  sourcesWithLostPart,
} from '../../store/sqlite/collection/sources.ts';
import {
  type AlertRule,
  allConditions,
  type Condition,
  deleteCondition,
  hasNotice,
  type Notice,
  putCondition,
  startPositionOf,
} from '../../store/sqlite/node/alerts.ts';
import { damagesWithoutNotice } from '../../store/sqlite/node/blobs.ts';
import { allCopies, countInNoCopy } from '../../store/sqlite/node/copies.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { allPeerRewrites } from '../../store/sqlite/node/peers.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import type { Match } from '../queue.ts';

interface StateServices {
  store: Pick<Store, 'read' | 'clock' | 'heldBytes' | 'freeBytes'>;
  settings: () => Settings;
}

/** The most damages that one run reads. Storing their matches starts another run, which reads the next. */
const MAX_DAMAGES = 500;

const DAMAGE_WORDS: Record<Damage['problem'], { title: string; text: string }> = {
  missing: { title: 'is missing', text: 'are missing' },
  changed: { title: 'is damaged', text: 'have changed' },
  unreadable: { title: 'cannot be read', text: 'cannot be read from the disk' },
};

const notice = (kind: Notice['kind'], at: string, parts: Partial<Notice>): Notice => ({
  kind,
  at,
  event: null,
  title: null,
  text: null,
  path: '/',
  source: null,
  ...parts,
});

/** Returns the sources of a rule that began to fail after it became active. */
export function matchFailures({ store: { read } }: StateServices, rules: readonly CompiledRule[]): Match[] {
  const asking = rules.filter(({ rule }) => rule.when.failures);
  if (asking.length === 0) return [];
  return failingSources(read).flatMap((source) => {
    const { id, url, name, failing_since } = source;
    if (failing_since === null) return [];
    const subject = `failure:${id}:${failing_since}`;
    const cause =
      source.last_error === null ? 'no answer' : failureWords(source.last_error, source.last_status);
    return asking
      .filter(
        ({ rule, matchesSource }) =>
          failing_since >= startPositionOf(rule, 'failures').active_since &&
          matchesSource(source) &&
          !hasNotice(read, rule.id, subject),
      )
      .map(({ rule }) => ({
        rule: rule.id,
        subject,
        notice: notice('failure', failing_since, {
          title: `${name || url} cannot be retrieved`,
          text: `The check of ${url} failed: ${cause}. The node keeps checking it.`,
          path: `/sources/${id}`,
          source: { id, url, name },
        }),
      }));
  });
}

/** Returns the damages that were found after a rule became active. */
export function matchDamages({ store: { read } }: StateServices, rules: readonly CompiledRule[]): Match[] {
  return rules.flatMap(({ rule }) => {
    if (!rule.when.damaged) return [];
    const { after_entry: after } = startPositionOf(rule, 'damaged');
    const found = damagesWithoutNotice(read, { rule: rule.id, after, limit: MAX_DAMAGES });
    return found.map(({ ledger_entry, sha256, problem, at }) => ({
      rule: rule.id,
      subject: `damage:${ledger_entry}`,
      notice: notice('damage', at, {
        title: `A stored object ${DAMAGE_WORDS[problem].title}`,
        text: `The bytes of ${sha256} ${DAMAGE_WORDS[problem].text}. Restore them from a copy, a peer or a backup.`,
      }),
    }));
  });
}

/** Returns the peers that were found to have rewritten their ledger after a rule became active. */
export function matchRewrites({ store: { read } }: StateServices, rules: readonly CompiledRule[]): Match[] {
  const asking = rules.filter(({ rule }) => rule.when.peer_rewritten);
  if (asking.length === 0) return [];
  return allPeerRewrites(read).flatMap(({ ledger_entry, record }) => {
    const { name, at } = peerRewriteSchema.parse(record);
    const subject = `peer_rewritten:${ledger_entry}`;
    return asking
      .filter(
        ({ rule }) =>
          ledger_entry > startPositionOf(rule, 'peer_rewritten').after_entry &&
          !hasNotice(read, rule.id, subject),
      )
      .map(({ rule }) => ({
        rule: rule.id,
        subject,
        notice: notice('peer_rewritten', at, {
          title: `The peer ${name} rewrote its ledger`,
          text: `The new checkpoint of ${name} is not consistent with the stored one. Nothing more is mirrored from this peer. Both checkpoints are kept as evidence.`,
          path: '/sharing',
        }),
      }));
  });
}

/**
 * Returns the profiles that stopped working after a rule became active: each once, whatever number of sources notices it. A
 * rule that is about some sources waits until one of them does.
 */
export function matchExpiredProfiles(
  { store: { read } }: StateServices,
  rules: readonly CompiledRule[],
): Match[] {
  const asking = rules.filter(({ rule }) => rule.when.profile_expired);
  if (asking.length === 0) return [];
  return expiredProfiles(read).flatMap(({ id, name, site, expired_at, expired_reason }) => {
    const noticing = sourcesWithExpiredLogin(read, id);
    const subject = `profile_expired:${id}:${expired_at}`;
    return asking.flatMap(({ rule, matchesSource }) => {
      const source = noticing.find(matchesSource);
      if (!source || expired_at < startPositionOf(rule, 'profile_expired').active_since) return [];
      if (hasNotice(read, rule.id, subject)) return [];
      const about = notice('profile_expired', expired_at, {
        title: `The login at ${site} has expired`,
        text: `The profile ${name} no longer works: ${EXPIRY_WORDS[expired_reason]}. What the site shows without it is not recorded as a change. Log in again and replace the profile.`,
        path: '/settings#profiles',
        source: { id: source.id, url: source.url, name: source.name },
      });
      return [{ rule: rule.id, subject, notice: about }];
    });
  });
}

/** Returns the copies whose restore drills began to fail after a rule became active. */
export function matchFailedDrills(
  { store: { read } }: StateServices,
  rules: readonly CompiledRule[],
): Match[] {
  const asking = rules.filter(({ rule }) => rule.when.drill_failed);
  if (asking.length === 0) return [];
  return allCopies(read).flatMap(({ id, target, last_drill, drill_failing_since: since }) => {
    if (since === null || last_drill === null) return [];
    const { sentence } = restoreDrillSchema.parse(JSON.parse(last_drill));
    const subject = `drill_failed:${id}:${since}`;
    const about = notice('drill_failed', since, {
      title: `The archive could not be restored from the copy in ${target}`,
      text: sentence,
      path: '/settings#copies',
    });
    return asking
      .filter(
        ({ rule }) =>
          since >= startPositionOf(rule, 'drill_failed').active_since && !hasNotice(read, rule.id, subject),
      )
      .map(({ rule }) => ({ rule: rule.id, subject, notice: about }));
  });
}

function partName(watch: Watch): string {
  const { value } = selectorOf(watch);
  return 'region' in watch ? `The region ${value}` : value;
}

/** Returns the sources whose watched part was found to be missing after a rule became active. */
export function matchLostParts({ store: { read } }: StateServices, rules: readonly CompiledRule[]): Match[] {
  const asking = rules.filter(({ rule }) => rule.when.watch_lost);
  if (asking.length === 0) return [];
  return sourcesWithLostPart(read).flatMap((source) => {
    const { id, url, name, watch, watch_lost_at } = source;
    if (watch === null || watch_lost_at === null) return [];
    const subject = `watch_lost:${id}:${watch_lost_at}`;
    return asking
      .filter(
        ({ rule, matchesSource }) =>
          watch_lost_at >= startPositionOf(rule, 'watch_lost').active_since &&
          matchesSource(source) &&
          !hasNotice(read, rule.id, subject),
      )
      .map(({ rule }) => ({
        rule: rule.id,
        subject,
        notice: notice('watch_lost', watch_lost_at, {
          title: `The watched part of ${name || url} is gone`,
          text: `${partName(watch)} is not in the newest ${'region' in watch ? 'picture' : 'version'}. Until it is back, every change counts. Choose another part on the page of the source.`,
          path: `/sources/${id}`,
          source: { id, url, name },
        }),
      }));
  });
}

/** A copy has fallen behind if it misses entries, and was not synced for three of its intervals and an hour at least. */
const BEHIND_INTERVALS = 3;
const BEHIND_AT_LEAST_MS = 3_600_000;
const MS_PER_MINUTE = 60_000;

/** A current state of the node, with the text of its alert. */
interface Current {
  name: string;
  trigger: 'disk' | 'copy_behind';
  title: string;
  text: string;
  path: string;
}

/** Whether a rule needs states that have no record and must therefore be checked at intervals. */
export function needConditions(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ rule }) => rule.when.disk || rule.when.copy_behind);
}

/** Records which states began or ended since the last check, and returns the matches of current states. */
export async function matchConditions(
  services: StateServices,
  rules: readonly CompiledRule[],
  { write, instant }: { write: Store['write']; instant: () => string },
): Promise<Match[]> {
  const { read } = services.store;
  if (!needConditions(rules)) return [];
  const current = [...fullDisk(services), ...copiesBehind(services), ...inNoCopy(services)];
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
      .filter(({ rule }) => rule.when[state.trigger] && !hasNotice(read, rule.id, subject))
      .map(({ rule }) => ({ rule: rule.id, subject, notice: noticeOf(state, began) }));
  });
}

function noticeOf({ trigger, title, text, path }: Current, at: string): Notice {
  return { kind: trigger, at, event: null, title, text, path, source: null };
}

function fullDisk({ store, settings }: StateServices): Current[] {
  const limit = reachedStorageLimit(store, settings(), 0);
  if (limit === null) return [];
  const isFull = limit === 'data_cap_reached';
  return [
    {
      name: `disk:${limit}`,
      trigger: 'disk',
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
          trigger: 'copy_behind' as const,
          title: `The copy in ${target} is out of date`,
          text: `It is ${entries} behind.${last_error === null ? '' : ` ${last_error}`}`,
          path: '/settings#copies',
        },
      ];
    },
  );
}

/** Copies with pages leave out what is withheld. If there is no other, it is only on the disk of the archive. */
function inNoCopy({ store: { read } }: StateServices): Current[] {
  const copies = allCopies(read);
  if (copies.some(({ pages }) => pages === 0)) return [];
  const objects = Math.max(0, ...copies.map(({ id }) => countInNoCopy(read, { copy: id })));
  if (objects === 0) return [];
  return [
    {
      name: 'withheld_in_no_copy',
      trigger: 'copy_behind',
      title: 'Withheld objects are in no copy',
      text: inNoCopySentence(objects, false),
      path: '/settings#copies',
    },
  ];
}

/** The facts of a source that rules match on. */
interface MatchedSource {
  id: string;
  agency: string;
  tags: readonly string[];
}

/** A rule with its lists as sets, so that ten thousand events are compared with it in milliseconds. */
export interface CompiledRule {
  rule: AlertRule;
  isAboutEvents: boolean;
  /** Whether the versions have to be compared before an event of the right source and type matches. */
  words: Words | undefined;
  notNoise: boolean;
  /** What must be within the watched part of the versions. */
  conditions: Conditions | undefined;
  matchesSource: (source: MatchedSource) => boolean;
  /** Whether the type, the source and the label of an event match. */
  mayMatch: (event: Event) => boolean;
}

export function compileRule(rule: AlertRule): CompiledRule {
  const { when } = rule;
  const [types, tags, agencies, sources] = [when.event_types, when.tags, when.agencies, when.sources].map(
    (list) => list && new Set<string>(list),
  );
  const labels = when.labels && new Set<LabelFilter>(when.labels);
  const { after_event } = startPositionOf(rule, 'events');
  const matchesSource = ({ id, agency, tags: ofSource }: MatchedSource) =>
    (sources === undefined || sources.has(id)) &&
    (agencies === undefined || agencies.has(agency)) &&
    (tags === undefined || ofSource.some((tag) => tags.has(tag)));
  return {
    rule,
    isAboutEvents: watchesEvents(when),
    words: when.words && preparedWords(when.words),
    notNoise: when.not_noise === true,
    conditions: conditionsOf(when),
    matchesSource,
    mayMatch: ({ id, event_type, source, page_label, outside }) =>
      id > after_event &&
      (types === undefined || types.has(event_type)) &&
      (outside ? labels?.has('outside') === true : labels === undefined || hasLabel(labels, page_label)) &&
      matchesSource(source),
  };
}

function hasLabel(labels: ReadonlySet<LabelFilter>, label: PageLabel | null): boolean {
  return label ? labels.has('any') || labels.has(label.label) : labels.has('none');
}
