import type { Fixity } from '../../../../../shared/fixity.ts';
import { useCall } from '../../../api/useCall.ts';
import { useIsOwner } from '../../../state/session.ts';

const REFRESH_MS = 15_000;
/** Among so many of the newest audits the last whole one is looked for. */
const AUDITS = 20;
const DAMAGES = 100;

export type DamagedObject = Fixity['damaged'][number];

export interface KnownFixity extends Pick<Fixity, 'checked' | 'damaged_objects'> {
  /** Null where there was none; undefined where this reader is not told. */
  last_completed_audit_at: string | null | undefined;
  /** The first of them. */
  damaged: readonly DamagedObject[];
}

/**
 * How sound the stored bytes are, by the node's status. A node that watches nothing has no collection to tell of and
 * answers 503 there; of such a one the damages and audits themselves are asked for.
 */
export function useFixity(): { fixity: KnownFixity | undefined; error: unknown; refetch: () => void } {
  const isOwner = useIsOwner();
  const sources = useCall('listSources', { query: { limit: 1 } });
  const watches = sources.data && sources.data.total > 0;
  const asked = { refetchInterval: REFRESH_MS };
  const status = useCall('readStatus', {}, { ...asked, enabled: watches === true });
  const damages = useCall(
    'listDamages',
    { query: { limit: DAMAGES } },
    { ...asked, enabled: watches === false },
  );
  const audits = useCall(
    'listAudits',
    { query: { limit: AUDITS } },
    { ...asked, enabled: watches === false && isOwner },
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
