import type { RequestedSettings, Settings } from '../../../../shared/node/settings.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Addresses } from '../../../../shared/routes/node/manage.ts';
import { readHead } from '../../../ledger/appendEntry.ts';
import type { OwnerKeys } from '../../../owner/ownerKeys.ts';
import type { OwnerSessions } from '../../../owner/sessions.ts';
import type { SharingSwitch } from '../../../owner/sharing.ts';
import type { Jobs } from '../../../runtime/jobs.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import { measureStorage } from '../../../store/storageSpace.ts';
import type { Store } from '../../../store/store.ts';
import { runLedgerVerification } from '../../../verification/ledger/ledgerVerification.ts';
import type { Handlers } from '../../app.ts';
import { openEventStream } from '../../delivery/eventStream.ts';
import { accepted, noContent, ok, page } from '../../reply.ts';
import { mayContribute } from '../../security/access.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type NodeRoutes =
  | 'readHealth'
  | 'readSession'
  | 'createSignInLink'
  | 'signOut'
  | 'listSessions'
  | 'endSession'
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
  settings: Pick<SettingsStore, 'current'>;
  /** Changes settings, applies those that concern the listening sockets, and keeps the password of the mail server. */
  changeSettings: (change: RequestedSettings) => Promise<Settings>;
  sharing: SharingSwitch;
  /** Returns the addresses at which the network can reach the node now. */
  addresses: () => Addresses['addresses'];
  /** Returns the certificate of the node; undefined without TLS. */
  tls: () => { fingerprint: string } | undefined;
  publicAddress: PublicAddress;
  keys: OwnerKeys;
  sessions: OwnerSessions;
  jobs: Jobs;
  nodeName: string;
  version: string;
}

/** Handlers for the node itself: sessions, settings, sharing and jobs. */
export function nodeHandlers({
  store,
  settings,
  changeSettings,
  sharing,
  addresses,
  tls,
  publicAddress,
  keys,
  sessions,
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
      const path = `/sign-in/${keys.createSignInCode()}`;
      const { origin } = publicAddress;
      const url = publicAddress.originOf(request) + path;
      return { status: 201, json: { url, ...(origin && { public_url: origin + path }) } };
    },
    signOut: async ({ visitor }) => {
      if (visitor.session) await sessions.end(visitor.session);
      return noContent;
    },
    listSessions: ({ query, request, visitor }) =>
      page(request, query, sessions.list(query, visitor.session)),
    endSession: async ({ params }) => {
      await sessions.endById(params.id ?? '');
      return noContent;
    },
    readSettings: () => ok(settings.current),
    changeSettings: async ({ body }) => ok(await changeSettings(body)),
    readStorage: async () => ok(measureStorage(store, settings.current)),
    readSharing: () => ok(sharing.current),
    setSharing: async ({ body }) => ok(await sharing.set(body)),
    readAddresses: () => {
      const { origin, name = '' } = publicAddress;
      const isPublic = origin !== undefined && sharing.current.mode !== 'off';
      const publicAddresses = isPublic ? [{ url: origin, address: name, interface: 'public address' }] : [];
      const fingerprint = tls()?.fingerprint;
      return ok({
        addresses: [...publicAddresses, ...addresses()],
        ...(fingerprint && { tls_fingerprint: fingerprint }),
      });
    },
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
