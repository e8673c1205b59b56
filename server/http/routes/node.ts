import { Problem } from '../../../shared/problems.ts';
import type { Addresses } from '../../../shared/routes/manage.ts';
import { readHead } from '../../ledger/appendEntry.ts';
import type { OwnerKeys } from '../../owner/ownerKeys.ts';
import type { SharingSwitch } from '../../owner/sharing.ts';
import { measureRoom } from '../../store/room.ts';
import type { SettingsStore } from '../../store/settings.ts';
import type { Store } from '../../store/store.ts';
import type { Jobs } from '../../workers/jobs.ts';
import { runLedgerVerification } from '../../workers/ledgerVerification.ts';
import { mayContribute } from '../access.ts';
import type { Handlers } from '../app.ts';
import { openEventStream } from '../eventStream.ts';
import { accepted, noContent, ok, page } from '../reply.ts';

type NodeRoutes =
  | 'readHealth'
  | 'readSession'
  | 'createSignInLink'
  | 'signOut'
  | 'readSettings'
  | 'changeSettings'
  | 'readStorage'
  | 'readSharing'
  | 'setSharing'
  | 'readAddresses'
  | 'startLedgerVerification'
  | 'listJobs'
  | 'readJob'
  | 'cancelJob'
  | 'streamManagement';

export interface NodeServices {
  store: Store;
  settings: SettingsStore;
  sharing: SharingSwitch;
  /** Where the network reaches the node now. */
  addresses: () => Addresses['addresses'];
  keys: OwnerKeys;
  jobs: Jobs;
  nodeName: string;
  version: string;
}

/** What concerns the node itself: who asks, settings, sharing, long work. */
export function nodeHandlers({
  store,
  settings,
  sharing,
  addresses,
  keys,
  jobs,
  nodeName,
  version,
}: NodeServices): Pick<Handlers, NodeRoutes> {
  return {
    readHealth: () => ok({ status: 'up' }),
    readSession: ({ visitor }) =>
      ok({
        owner: visitor.owner,
        may_contribute: mayContribute(visitor, sharing.current),
        node: nodeName,
        version,
        sharing: sharing.current.mode,
      }),
    createSignInLink: ({ request }) => {
      const url = `http://${request.headers.host}/sign-in/${keys.createSignInCode()}`;
      return { status: 201, json: { url } };
    },
    signOut: async ({ visitor }) => {
      if (visitor.session) await keys.endSession(visitor.session);
      return noContent;
    },
    readSettings: () => ok(settings.current),
    changeSettings: async ({ body }) => ok(await settings.change(body)),
    readStorage: async () => ok(await measureRoom(store, settings.current)),
    readSharing: () => ok(sharing.current),
    setSharing: async ({ body }) => ok(await sharing.set(body)),
    readAddresses: () => ok({ addresses: addresses() }),
    startLedgerVerification: () => {
      const { job } = jobs.start('ledger_verification', 'entries', ({ signal, progress }) => {
        const total = readHead(store.read).seq;
        return runLedgerVerification(store, { signal, tell: (checked) => progress(checked, total) });
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
          const tell = (job: unknown) => send({ event: 'job', data: job });
          jobs.on('job', tell);
          return () => jobs.off('job', tell);
        }),
    }),
  };
}

function noSuchJob(): never {
  throw new Problem('not_found', 'There is no such job; ended jobs are forgotten in time.');
}
