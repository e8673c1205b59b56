import type { Fixity } from '../../../../../shared/ledger/fixity.ts';
import { useCall } from '../../../api/useCall.ts';
import { useIsOwner } from '../../../state/session.ts';

const REFRESH_MS = 15_000;
/** How many recent audits are searched for the last complete one. */
const AUDITS = 20;
const DAMAGES = 100;

export type DamageEntry = Fixity['damaged'][number];

export interface FixityStatus extends Pick<Fixity, 'checked' | 'damaged_objects'> {
  /** Null if there was none. Undefined if the reader may not see it. */
  last_completed_audit_at: string | null | undefined;
  damaged: readonly DamageEntry[];
}

/**
 * The condition of the stored bytes. A node without watched sources has no collection status (it answers 503), so its
 * damages and audits are requested directly.
 */
export function useFixity(): { fixity: FixityStatus | undefined; error: unknown; refetch: () => void } {
  const isOwner = useIsOwner();
  const sources = useCall('listSources', { query: { limit: 1, paused: false } });
  const watches = sources.data && sources.data.total > 0;
  const refresh = { refetchInterval: REFRESH_MS };
  const status = useCall('readStatus', {}, { ...refresh, enabled: watches === true });
  const damages = useCall(
    'listDamages',
    { query: { limit: DAMAGES } },
    { ...refresh, enabled: watches === false },
  );
  const audits = useCall(
    'listAudits',
    { query: { limit: AUDITS } },
    { ...refresh, enabled: watches === false && isOwner },
  );
  if (watches !== false) {
    return { fixity: status.data?.fixity, error: status.error, refetch: () => void status.refetch() };
  }
  const damaged = damages.data?.items.filter(({ restored_at }) => restored_at === null);
  const last = audits.data?.items.find(({ completed }) => completed);
  return {
    fixity: damaged && {
      last_completed_audit_at: isOwner ? (last?.ended_at ?? null) : undefined,
      checked: last?.checked ?? 0,
      damaged_objects: damaged.length,
      damaged: damaged.map(({ at, ...rest }) => ({ ...rest, since: at })),
    },
    error: damages.error,
    refetch: () => void damages.refetch(),
  };
}
