import { Problem } from '../../../../shared/problems.ts';
import type { Nearby } from '../../../peers/nearby/nearby.ts';
import type { Peers } from '../../../peers/peers.ts';
import { readProvenance } from '../../../peers/provenance.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { accepted, created, noContent, ok, page } from '../../reply.ts';

type PeerRoutes =
  | 'listPeers'
  | 'listNearbyNodes'
  | 'addPeer'
  | 'readPeer'
  | 'changePeer'
  | 'removePeer'
  | 'contactPeer'
  | 'browsePeerPacks'
  | 'browsePeerEvents'
  | 'readPeerEvidence'
  | 'mirrorPeer'
  | 'repairFromPeers'
  | 'readProvenance';

/** Handlers for the peers of the archive. */
export function peerHandlers(store: Store, peers: Peers, nearby: Nearby): Pick<Handlers, PeerRoutes> {
  return {
    listPeers: ({ query, request }) => {
      const all = peers.list();
      const { offset, limit } = query;
      return page(request, query, { items: all.slice(offset, offset + limit), total: all.length });
    },
    listNearbyNodes: async ({ query, request }) => {
      const all = await nearby.look();
      const { offset, limit } = query;
      return page(request, query, { items: all.slice(offset, offset + limit), total: all.length });
    },
    addPeer: async ({ body }) => {
      const peer = await peers.add(body);
      return created(peer, `/manage/peers/${peer.id}`);
    },
    readPeer: ({ params }) => ok(peers.read(params.id ?? '')),
    changePeer: async ({ params, body }) => ok(await peers.change(params.id ?? '', body)),
    removePeer: async ({ params }) => {
      await peers.remove(params.id ?? '');
      return noContent;
    },
    contactPeer: async ({ params }) => ok(await peers.contact(params.id ?? '')),
    browsePeerPacks: async ({ params, query, request }) =>
      page(request, query, await peers.packsOf(params.id ?? '', query)),
    browsePeerEvents: async ({ params, query, request }) =>
      page(request, query, await peers.eventsOf(params.id ?? '', query)),
    readPeerEvidence: ({ params }) => ok(peers.evidence(params.id ?? '')),
    mirrorPeer: async ({ params, query, body }) => {
      const { job, finished } = peers.mirror(params.id ?? '', body);
      return query.wait ? ok(await finished) : accepted(job);
    },
    repairFromPeers: async ({ query }) => {
      const { job, finished } = peers.repair();
      return query.wait ? ok(await finished) : accepted(job);
    },
    readProvenance: ({ params, query }) => {
      const { id = '' } = params;
      const provenance = readProvenance(store, id);
      if (provenance) return ok(provenance);
      if (query.optional) return noContent;
      throw new Problem('not_found', `The pack ${id} was not mirrored from a peer.`);
    },
  };
}
