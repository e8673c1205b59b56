import { failureWords } from '../../../shared/collection/failureWords.ts';
import type { Damage } from '../../../shared/ledger/fixity.ts';
import { peerRewriteSchema } from '../../../shared/node/peer.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { failingSources } from '../../store/sqlite/collection/sources.ts';
import { hasNotice, type Notice } from '../../store/sqlite/node/alerts/notices.ts';
import { beginningOf } from '../../store/sqlite/node/alerts/rules.ts';
import { damagesWithoutNotice } from '../../store/sqlite/node/damages.ts';
import { allPeerRewrites } from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import type { Match } from '../queue.ts';
import type { CompiledRule } from './compiledRule.ts';

export interface StateServices {
  store: Pick<Store, 'read' | 'clock' | 'heldBytes' | 'freeBytes'>;
  settings: () => Settings;
}

/** The most damages that one run reads. Storing their matches starts another run, which reads the next. */
const MAX_DAMAGES = 500;

const DAMAGE_WORDS: Record<Damage['problem'], { title: string; text: string }> = {
  missing: { title: 'is missing', text: 'are gone' },
  changed: { title: 'is damaged', text: 'are no longer what they were' },
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
          failing_since >= beginningOf(rule, 'failures').active_since &&
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
    const { after_entry: after } = beginningOf(rule, 'damaged');
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
          ledger_entry > beginningOf(rule, 'peer_rewritten').after_entry &&
          !hasNotice(read, rule.id, subject),
      )
      .map(({ rule }) => ({
        rule: rule.id,
        subject,
        notice: notice('peer_rewritten', at, {
          title: `The peer ${name} rewrote its ledger`,
          text: `The new checkpoint of ${name} is not consistent with the one kept. Nothing more is taken from it; both checkpoints are kept as evidence.`,
          path: '/sharing',
        }),
      }));
  });
}
