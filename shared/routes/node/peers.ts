import { z } from 'zod';
import {
  observationAnswerSchema,
  observationCallSchema,
  observersChangeSchema,
  sourceObserversSchema,
} from '../../node/observation.ts';
import {
  browseQuery,
  mirrorRequestSchema,
  mirrorResultSchema,
  nearbyNodeSchema,
  newPeerSchema,
  packProvenanceSchema,
  peerChangeSchema,
  peerEventSchema,
  peerEvidenceSchema,
  peerPackSchema,
  peerProposalSchema,
  peerSchema,
  proposalDecisionSchema,
  repairResultSchema,
} from '../../node/peer.ts';
import { booleanParameter, listQuery, pageOf } from '../../values/list.ts';
import { jobOrResult, jsonBody, manageRoute, NO_BODY, route } from '../route.ts';

/** Other nodes whose packs and captures are taken into this archive. */
export const peerRoutes = {
  listPeers: manageRoute({
    method: 'GET',
    path: '/manage/peers',
    summary: 'List the peers',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of peers, oldest first', schema: pageOf(peerSchema) } },
  }),
  listNearbyNodes: manageRoute({
    method: 'GET',
    path: '/manage/peers/nearby',
    summary: 'Look for nodes on the local network',
    description:
      'Asks with DNS-SD (`_strongroom._tcp`) and waits one and a half seconds for answers. What a node announces is verified when it is added. A node announces itself only while it is shared.',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of the nodes that answered', schema: pageOf(nearbyNodeSchema) },
    },
  }),
  addPeer: manageRoute({
    method: 'POST',
    path: '/manage/peers',
    summary: 'Add a peer by its address',
    description:
      'Reads the key and the checkpoint of the node. Without `key` and `tls_fingerprint` its key and its certificate are pinned as it shows them: confirm them with its owner by phone or in person. This node then cosigns its checkpoints, unless `cosign` is false; with `ask_to_cosign` the peer becomes a witness of this node.',
    body: jsonBody(newPeerSchema),
    responses: { 201: { description: 'The peer', schema: peerSchema } },
    problems: ['key_mismatch', 'certificate_mismatch', 'peer_exists', 'peer_failed'],
  }),
  readPeer: manageRoute({
    method: 'GET',
    path: '/manage/peers/{id}',
    summary: 'Read one peer',
    responses: { 200: { description: 'The peer', schema: peerSchema } },
    problems: ['not_found'],
  }),
  changePeer: manageRoute({
    method: 'PATCH',
    path: '/manage/peers/{id}',
    summary: 'Change the address, the name or the certificate of a peer',
    description:
      'At a new address, and with a new certificate, the node must sign with the pinned key. `tls_fingerprint` accepts the certificate that the node shows now. Without it, a new https address must show the pinned one.',
    body: jsonBody(peerChangeSchema),
    responses: { 200: { description: 'The peer', schema: peerSchema } },
    problems: ['not_found', 'key_mismatch', 'certificate_mismatch', 'peer_exists', 'peer_failed'],
  }),
  removePeer: manageRoute({
    method: 'DELETE',
    path: '/manage/peers/{id}',
    summary: 'Forget a peer; what was mirrored from it stays',
    responses: { 204: { description: 'Forgotten' } },
    problems: ['not_found'],
  }),
  contactPeer: manageRoute({
    method: 'POST',
    path: '/manage/peers/{id}/contact',
    summary: 'Read the checkpoint of a peer and compare it with the one kept',
    description: 'The state of the peer in the response is the result.',
    body: NO_BODY,
    responses: { 200: { description: 'The peer', schema: peerSchema } },
    problems: ['not_found'],
  }),
  browsePeerPacks: manageRoute({
    method: 'GET',
    path: '/manage/peers/{id}/packs',
    summary: 'List the packs of a peer as it shows them',
    description: 'Read from the peer now. Nothing of it is verified before it is mirrored.',
    query: browseQuery,
    responses: { 200: { description: 'A page of packs, newest first', schema: pageOf(peerPackSchema) } },
    problems: ['not_found', 'peer_failed', 'certificate_mismatch'],
  }),
  browsePeerEvents: manageRoute({
    method: 'GET',
    path: '/manage/peers/{id}/events',
    summary: 'List the timeline of a peer as it shows it',
    description: 'Read from the peer now. Nothing of it is verified before it is mirrored.',
    query: browseQuery,
    responses: { 200: { description: 'A page of events, newest first', schema: pageOf(peerEventSchema) } },
    problems: ['not_found', 'peer_failed', 'certificate_mismatch'],
  }),
  readPeerEvidence: manageRoute({
    method: 'GET',
    path: '/manage/peers/{id}/evidence',
    summary: 'Read the two checkpoints of a peer that rewrote its ledger',
    responses: { 200: { description: 'Both signed notes', schema: peerEvidenceSchema } },
    problems: ['not_found'],
  }),
  listPeerProposals: manageRoute({
    method: 'GET',
    path: '/manage/peers/{id}/proposals',
    summary: 'List what a peer withholds and this archive has otherwise',
    description:
      'A mirror follows a peer only for what came from that peer and from nowhere else. The rest waits here until it is taken or left.',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of open proposals, newest first', schema: pageOf(peerProposalSchema) },
    },
    problems: ['not_found'],
  }),
  decidePeerProposal: manageRoute({
    method: 'POST',
    path: '/manage/peers/{id}/proposals/{number}',
    summary: 'Take or leave what a peer proposes',
    description:
      '`take` withholds it here with the reason of the peer, or shows it again. `leave` changes nothing here.',
    body: jsonBody(proposalDecisionSchema),
    responses: { 200: { description: 'The proposal, decided', schema: peerProposalSchema } },
    problems: ['not_found', 'released', 'unknown_target'],
  }),
  mirrorPeer: manageRoute({
    method: 'POST',
    path: '/manage/peers/{id}/mirror',
    summary: 'Take packs and captures from a peer',
    description:
      'Nothing is kept that was not verified: the checkpoint, the proof of each record, the digest of each byte. What is held is not taken again, so an interrupted mirror continues where it stopped. With `wait=true` the response is sent when it has ended.',
    body: jsonBody(mirrorRequestSchema),
    ...jobOrResult('The job that takes it', 'What was taken', mirrorResultSchema),
    problems: ['not_found', 'peer_failed', 'peer_rewritten', 'key_mismatch', 'certificate_mismatch'],
  }),
  repairFromPeers: manageRoute({
    method: 'POST',
    path: '/manage/repairs',
    summary: 'Fetch the damaged objects of this archive from peers that hold them',
    description:
      'Each object is verified by its digest, put in place, and recorded as `object.restored`. With the setting `repair_from_peers` every audit does so.',
    body: NO_BODY,
    ...jobOrResult(
      'The job that fetches them',
      'What was restored, and what no peer has',
      repairResultSchema,
    ),
  }),
  answerObservation: route({
    method: 'POST',
    path: '/api/observations',
    access: 'read',
    tag: 'Timeline',
    summary: 'Have an address fetched by this node at this moment, as a peer of it',
    description:
      'The body is a request that the peer signed with the key of its ledger. The owner says for each peer how many addresses are fetched in a day; by default none. The address is fetched as any visitor gets it, and what came is signed and recorded in the ledger.',
    body: jsonBody(observationCallSchema),
    responses: { 200: { description: 'What this node signed', schema: observationAnswerSchema } },
    problems: [
      'observation_refused',
      'private_address',
      'archive_read_only',
      'disk_nearly_full',
      'storage_failed',
      'shutting_down',
    ],
  }),
  readSourceObservers: manageRoute({
    method: 'GET',
    path: '/manage/sources/{id}/observers',
    summary: 'Read which peers are asked to fetch a source too, when it changes',
    responses: { 200: { description: 'All peers of this node', schema: sourceObserversSchema } },
    problems: ['not_found'],
  }),
  setSourceObservers: manageRoute({
    method: 'PUT',
    path: '/manage/sources/{id}/observers',
    summary: 'Choose the peers that are asked to fetch a source too, when it changes',
    description:
      'Never for a source with request headers or a login, at a private address, or whose address may hold a secret. Each peer must agree itself.',
    body: jsonBody(observersChangeSchema),
    responses: { 200: { description: 'All peers of this node', schema: sourceObserversSchema } },
    problems: ['not_found'],
  }),
  readProvenance: route({
    method: 'GET',
    path: '/api/packs/{id}/provenance',
    access: 'read',
    tag: 'Packs',
    summary: 'Read from which peer a pack was mirrored, with the proof that its ledger has it',
    description:
      'A pack that was uploaded to this node has no provenance. The response is 404 then, or 204 with `optional=true`.',
    query: z.strictObject({ optional: booleanParameter.optional() }),
    responses: {
      200: { description: 'The peer, its entry and the proof', schema: packProvenanceSchema },
      204: { description: 'With `optional=true`: the pack was uploaded to this node' },
    },
    problems: ['not_found'],
  }),
};
