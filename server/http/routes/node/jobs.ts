import { Problem } from '../../../../shared/problems.ts';
import { readHead } from '../../../ledger/appendEntry.ts';
import type { Jobs } from '../../../runtime/jobs.ts';
import type { Store } from '../../../store/store.ts';
import { runLedgerVerification } from '../../../verification/ledger/ledgerVerification.ts';
import type { Handlers } from '../../app.ts';
import { openEventStream } from '../../delivery/eventStream.ts';
import { accepted, ok, page } from '../../reply.ts';

type JobRoutes = 'startLedgerVerification' | 'listJobs' | 'readJob' | 'cancelJob' | 'streamManagement';

/** Handlers for jobs, and for the verification of the ledger, which is one. */
export function jobHandlers(store: Store, jobs: Jobs): Pick<Handlers, JobRoutes> {
  return {
    startLedgerVerification: () => {
      const { job } = jobs.start('ledger_verification', 'entries', ({ signal, progress }) => {
        const total = readHead(store.read).seq;
        return runLedgerVerification(store, { signal, onProgress: (checked) => progress(checked, total) });
      });
      return accepted(job);
    },
    listJobs: ({ query, request }) => {
      const all = jobs.list();
      const items = all.slice(query.offset, query.offset + query.limit);
      return page(request, query, { items, total: all.length });
    },
    readJob: ({ params }) => ok(jobs.find(params.id ?? '') ?? noSuchJob()),
    cancelJob: async ({ params }) => ok((await jobs.cancel(params.id ?? '')) ?? noSuchJob()),
    streamManagement: () => ({
      write: (response) =>
        openEventStream(response, (send) => {
          const sendJob = (job: unknown) => send({ event: 'job', data: job });
          jobs.on('job', sendJob);
          return () => jobs.off('job', sendJob);
        }),
    }),
  };
}

function noSuchJob(): never {
  throw new Problem('not_found', 'There is no such job. Ended jobs are removed after some time.');
}
