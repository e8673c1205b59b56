import type { DriftItem, DriftState } from '../../../shared/archive/drift.ts';
import type { Event } from '../../../shared/collection/event.ts';
import { packDrift } from '../../drift/packDrift.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import { hasNotice, type Notice } from '../../store/sqlite/node/alerts/notices.ts';
import { beginningOf } from '../../store/sqlite/node/alerts/rules.ts';
import type { Store } from '../../store/store.ts';
import type { Match } from '../queue.ts';
import type { CompiledRule } from './compiledRule.ts';
import type { RelatingPacks } from './relatingPacks.ts';

const WORDS: Record<Exclude<DriftState, 'same'>, string> = {
  changed: 'has changed',
  vanished: 'has vanished',
  returned: 'is as it was again',
};

/** Returns the matches for packs that relate to the sources of these events, or to packs that were replaced. */
export async function matchDrift(
  store: Pick<Store, 'read'>,
  rules: readonly CompiledRule[],
  packs: RelatingPacks,
  events: readonly Event[],
): Promise<Match[]> {
  const asking = rules.filter(({ rule }) => rule.when.drift);
  if (asking.length === 0) return [];
  const replaced = await packs.readNew(
    Math.min(...asking.map(({ rule }) => beginningOf(rule, 'drift').after_entry)),
  );
  const keys = events.flatMap(({ source, sha256, previous_sha256 }) => [source.id, sha256, previous_sha256]);
  const affected = new Set([...replaced, ...packs.relatingTo(keys)]);
  const matches: Match[] = [];
  for (const pack of affected) {
    for (const item of packDrift(store, pack).items) {
      const found = driftOf(pack, item);
      if (!found) continue;
      for (const compiled of asking)
        if (isAbout(store, compiled, found, item)) matches.push({ rule: compiled.rule.id, ...found });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return matches;
}

type Found = Pick<Match, 'subject' | 'notice'>;

function isAbout(
  { read }: Pick<Store, 'read'>,
  { rule, notNoise, matchesSource }: CompiledRule,
  { subject, notice }: Found,
  item: DriftItem,
): boolean {
  if (notice.at < beginningOf(rule, 'drift').active_since || hasNotice(read, rule.id, subject)) return false;
  const { tags, agencies, sources } = rule.when;
  if (item.kind === 'file') return (tags ?? agencies ?? sources) === undefined;
  const source = sourceById(read, item.source.id);
  return source !== undefined && matchesSource(source) && !(notNoise && item.only_noise);
}

function driftOf(pack: string, item: DriftItem): Found | undefined {
  const { state, at } = item;
  if (state === 'same' || at === null) return undefined;
  const place = item.kind === 'source' ? item.source.id : `${item.pack} ${item.path}`;
  const name = item.kind === 'source' ? item.source.name || item.source.url : item.path;
  const notice: Notice = {
    kind: 'drift',
    at,
    // The change itself is described too, if it is one.
    event: item.kind === 'source' ? item.event : null,
    title: `${name}, which a pack relates to, ${WORDS[state]}`,
    text: `The pack ${pack} names it (${item.relation}): ${item.identifier}.`,
    path: `/packs/${pack}`,
    source: item.kind === 'source' ? item.source : null,
  };
  return { subject: `drift:${pack}:${item.identifier}:${place}:${state}:${at}`, notice };
}
