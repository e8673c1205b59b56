import { Problem } from '../../../../shared/problems.ts';
import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { addFinding, withdrawFinding } from '../../../findings/addFinding.ts';
import { listFindings, listFindingTags, readFinding } from '../../../findings/readFindings.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders, CSV_TYPE } from '../../delivery/streamReply.ts';
import { created, ok, page } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

const JSON_LD_TYPE = 'application/ld+json; profile="http://www.w3.org/ns/anno.jsonld"';

type FindingRoutes = 'listFindings' | 'listFindingTags' | 'readFinding' | 'addFinding' | 'withdrawFinding';

/** Handlers for findings. */
export function findingHandlers(
  store: Store,
  nodeName: string,
  { exports, publicAddress }: { exports: Exports; publicAddress: PublicAddress },
): Pick<Handlers, FindingRoutes> {
  const address = (id: string) => pathOf(ROUTES.readFinding.path, { id });
  return {
    listFindings: async ({ query: { format, ...query }, request }) => {
      if (format === undefined) return page(request, query, listFindings(store, query));
      const { findingsCsv, findingsJsonLd } = await import('../../../findings/exportFindings.ts');
      if (format === 'csv')
        return exports.streamReply(attachmentHeaders(CSV_TYPE, 'findings.csv'), () =>
          findingsCsv(store, query),
        );
      if (format !== 'jsonld')
        throw new Problem('invalid_format', 'Set format to csv or jsonld, or omit it to get JSON.');
      const addresses = { origin: publicAddress.originOf(request), nodeName };
      return exports.streamReply(attachmentHeaders(JSON_LD_TYPE, 'findings.jsonld'), () =>
        findingsJsonLd(store, query, addresses),
      );
    },
    listFindingTags: () => ok(listFindingTags(store)),
    readFinding: ({ params: { id = '' } }) => ok(readFinding(store, id)),
    addFinding: async ({ body }) => {
      const finding = await addFinding(store, body);
      return created(finding, address(finding.id));
    },
    withdrawFinding: async ({ params: { id = '' }, body }) => {
      const withdrawal = await withdrawFinding(store, id, body.reason);
      return created(withdrawal, address(withdrawal.id));
    },
  };
}
