import type { PageCapture } from '../../../../shared/collection/page.ts';
import { useCall } from '../../api/useCall.ts';

/** The captures of a source that are looked through for the next newer one. */
const LOOKED_AT = 100;

/** Returns the page that compares two captures. */
export function comparePath(before: string, after: string): string {
  return `/pages/${before}/compare/${after}`;
}

/** Returns the id of the capture of a source before one of its captures; undefined if there is none. */
export function useCaptureBefore(source: string, page: string | null): string | undefined {
  const query = { source, before: page ?? undefined, limit: 1 };
  return useCall('listPages', { query }, { enabled: page !== null }).data?.items[0]?.id;
}

/** Returns the captures of the same source next to a capture. */
export function useNeighbours({ id, source }: Pick<PageCapture, 'id' | 'source'>): {
  older: string | undefined;
  newer: string | undefined;
} {
  const older = useCaptureBefore(source, id);
  // Captures are listed newest first only.
  const { data } = useCall('listPages', { query: { source, limit: LOOKED_AT } });
  const at = data?.items.findIndex((page) => page.id === id) ?? -1;
  return { older, newer: at > 0 ? data?.items[at - 1]?.id : undefined };
}
