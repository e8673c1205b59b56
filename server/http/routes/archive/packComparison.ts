import { comparePacks, filesToCompare } from '../../../archive/packs/comparePacks.ts';
import type { FileDiffs } from '../../../collection/diff/fileDiffs.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { sendJsonWithEtag } from '../../delivery/sendJsonWithEtag.ts';
import { ok } from '../../reply.ts';

/** Handlers for the comparison of packs. */
export function packComparisonHandlers(
  store: Store,
  fileDiffs: FileDiffs,
): Pick<Handlers, 'comparePacks' | 'comparePackFiles'> {
  return {
    comparePacks: ({ params: { id = '' }, query }) => ok(comparePacks(store, id, query.with)),
    comparePackFiles: async ({ params: { id = '' }, query, request }) => {
      const { from, to } = filesToCompare(store, id, query.with, query.path);
      const sideOf = ({ sha256, bytes, media_type }: typeof from) => ({
        sha256,
        bytes,
        content_type: media_type,
      });
      return sendJsonWithEtag(request, await fileDiffs.compare(sideOf(from), sideOf(to)));
    },
  };
}
