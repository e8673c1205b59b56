import { listDamages } from '../../../fixity/damages.ts';
import { type FixityService, listAudits } from '../../../fixity/fixity.ts';
import { listLostAndFound } from '../../../fixity/lostAndFound.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { accepted, ok, page } from '../../reply.ts';

/** Handlers for audits and damage. */
export function fixityHandlers(
  store: Store,
  fixity: FixityService,
): Pick<Handlers, 'listDamages' | 'listAudits' | 'listLostAndFound' | 'startAudit'> {
  return {
    listDamages: ({ query, request }) => page(request, query, listDamages(store, query)),
    listAudits: ({ query, request }) => page(request, query, listAudits(store, query)),
    listLostAndFound: ({ query, request }) => page(request, query, listLostAndFound(store, query)),
    startAudit: async ({ query }) => {
      const { job, finished } = fixity.startAudit();
      return query.wait ? ok(await finished) : accepted(job);
    },
  };
}
