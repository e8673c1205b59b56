import { z } from 'zod';
import { nodePathSchema } from '../archive/study.ts';
import { outcomeSchema, tagSchema } from '../archive/vocabulary.ts';
import { eventTypeSchema } from '../collection/event.ts';
import { base64Hash, inclusionProofSchema, ledgerEntrySchema } from '../ledger/ledger.ts';
import {
  digestSchema,
  packIdSchema,
  pageIdSchema,
  peerIdSchema,
  sourceIdSchema,
  studyIdSchema,
  verifierKeySchema,
} from '../values/digest.ts';
import { integerParameter, namedObject } from '../values/list.ts';
import { instantSchema, isHttpUrl, text } from '../values/text.ts';
import { releasedReasonSchema } from './withheld.ts';

/** The address of a node: scheme, host, port and, behind a proxy, a path. */
const peerUrl = z
  .string()
  .max(2_000)
  .refine(isHttpUrl, 'Enter the address of the node, such as http://192.168.1.20:7717.')
  .refine((value) => {
    const url = URL.parse(value);
    return url === null || (!url.username && !url.password && !url.search && !url.hash);
  }, 'The address must not have a user name, a password, a query or a fragment.')
  .meta({ format: 'uri' });

const label = text(1, 100).refine(
  (name) => name.trim() === name,
  'Remove the spaces at the beginning or the end.',
);

/** Whether this node cosigns the checkpoints of the peer, and whether the peer is asked to cosign those of this node. */
const witnessing = {
  cosign: z.boolean().optional(),
  ask_to_cosign: z.boolean().optional(),
};

/**
 * A request to add a peer. Without `key`, the key that the node shows is pinned; without `tls_fingerprint`, so is its
 * certificate. The node becomes a witness of the peer, unless `cosign` is false.
 */
export const newPeerSchema = z.strictObject({
  url: peerUrl,
  key: verifierKeySchema.optional(),
  tls_fingerprint: digestSchema.optional(),
  ...witnessing,
});
export type NewPeer = z.output<typeof newPeerSchema>;

/**
 * `name` is the observer of captures that are mirrored from now on. `follow` is of all mirrors that were asked for.
 * `tls_fingerprint` accepts another certificate, which the node must show.
 */
export const peerChangeSchema = z.strictObject({
  url: peerUrl.optional(),
  name: label.optional(),
  follow: z.boolean().optional(),
  tls_fingerprint: digestSchema.optional(),
  observe_per_day: z.int().min(0).max(10_000, 'At most 10000 a day.').optional().meta({
    description: 'How many addresses this node fetches for the peer in a day (UTC); 0 for none.',
  }),
  ...witnessing,
});
export type PeerChange = z.output<typeof peerChangeSchema>;

/**
 * The state of a peer at the last contact. `ok`; `unreachable`: no response; `failing`: responses that no node gives;
 * `key_changed`: another key signs, and the pinned one has not signed it; `certificate_changed`: the node shows another
 * certificate than the pinned one; `rewritten`: the new checkpoint is not consistent with the one kept.
 */
const PEER_STATES = [
  'ok',
  'unreachable',
  'failing',
  'key_changed',
  'certificate_changed',
  'rewritten',
] as const;
const peerStateSchema = z.enum(PEER_STATES);
export type PeerState = z.output<typeof peerStateSchema>;

export const peerSchema = namedObject('Peer', {
  id: peerIdSchema,
  url: z.string(),
  name: z.string(),
  /** The pinned verifier key. */
  key: z.string(),
  pinned_at: instantSchema,
  state: peerStateSchema,
  /** The last time that the peer's checkpoint was received and verified. */
  last_contact_at: instantSchema.nullable(),
  /** Why the last contact failed, or null. */
  last_error: z.string().nullable(),
  /** The newest checkpoint that was verified, as a signed note. */
  checkpoint: z.string(),
  /** Whether any mirror of this peer is repeated on schedule. */
  follow: z.boolean(),
  mirrored_at: instantSchema.nullable(),
  /** What this archive withholds because the peer withholds it, or gave it up. The withholdings name the peer. */
  follows_withheld: z.strictObject({ withheld: z.int().min(0), released: z.int().min(0) }),
  /** What it says of objects that this archive has otherwise, and the owner has not decided. */
  proposals: z.int().min(0),
  /** The SHA-256 of the pinned certificate; null if the address is not https. */
  tls_fingerprint: digestSchema.nullable(),
  /** That of another certificate, which it showed at the last contact; else null. */
  tls_fingerprint_seen: digestSchema.nullable(),
  /** Whether this node cosigns the peer's checkpoints. */
  cosign: z.boolean(),
  /** Whether the peer is among the witnesses in the settings. */
  ask_to_cosign: z.boolean(),
  /** How many addresses this node fetches for the peer in a day; 0 for none. */
  observe_per_day: z.int().min(0),
});
export type Peer = z.output<typeof peerSchema>;

/** A node that announces itself on the local network. What it says is not verified yet. */
export const nearbyNodeSchema = namedObject('NearbyNode', {
  name: z.string().max(100),
  url: peerUrl,
  key: verifierKeySchema,
  tls_fingerprint: digestSchema.nullable(),
  /** The id of the peer that has this key, or null. */
  peer: peerIdSchema.nullable(),
});
export type NearbyNode = z.output<typeof nearbyNodeSchema>;

/** A record is signed, so a hash in it has one spelling only. */
const recordedHash = base64Hash.regex(
  /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  'This is not a SHA-256 hash in base64.',
);

/**
 * What proves that a larger checkpoint contradicts a smaller one, with the signatures of both and nothing else: the root
 * with which the larger tree begins at the size of the smaller one, and the consistency proof between these two.
 */
export const rewriteProofSchema = z.strictObject({
  from_root: recordedHash,
  hashes: z.array(recordedHash).max(128),
});
export type RewriteProof = z.output<typeof rewriteProofSchema>;

/** What `peer.rewritten` records. The address is not part of it, because every reader can see the ledger's records. */
export const peerRewriteSchema = z.strictObject({
  at: instantSchema,
  peer: peerIdSchema,
  name: z.string(),
  /** The pinned key, which signed the checkpoint that was kept. */
  key: z.string(),
  /** The key that signed the newer one: the same, or one that the pinned key has signed. */
  seen_key: z.string(),
  /** The checkpoint that was kept, and the one that contradicts it; both are signed notes. */
  kept: z.string(),
  seen: z.string(),
  proof: rewriteProofSchema.optional(),
});
export type PeerRewrite = z.output<typeof peerRewriteSchema>;

export const peerEvidenceSchema = peerRewriteSchema
  .extend({ ledger_entry: z.int().min(1) })
  .meta({ id: 'PeerEvidence' });
export type PeerEvidence = z.output<typeof peerEvidenceSchema>;

const packSelection = z.union([
  z.boolean(),
  z.strictObject({
    q: z.string().max(1_000).optional(),
    node: nodePathSchema.optional(),
    study: studyIdSchema.optional(),
  }),
]);
const sourceSelection = z.union([z.boolean(), z.array(sourceIdSchema).max(10_000)]);

/** What to take from a peer. With `follow`, it is repeated on schedule until `follow: false` is sent. */
export const mirrorRequestSchema = namedObject('MirrorRequest', {
  packs: packSelection.optional(),
  sources: sourceSelection.optional(),
  follow: z.boolean().optional(),
  every_minutes: z.int().min(1).max(43_200).optional(),
});
export type MirrorRequest = z.output<typeof mirrorRequestSchema>;
export type PackSelection = z.output<typeof packSelection>;

/** Why a record of a peer was not taken. */
const MIRROR_REFUSALS = [
  /** The record has not the digest that its ledger entry has, or breaks a rule for records. */
  'wrong_record',
  /** The proof does not lead to the root of the peer's checkpoint. */
  'wrong_proof',
  /** The bytes have not the digest or the size in the record. */
  'wrong_bytes',
  /** The peer does not have, or does not give, the bytes. */
  'missing_object',
  /** A study, a subject or another pack that the record needs was refused. */
  'missing_reference',
  'too_large',
  'timeout',
  /** The archive has reached its storage limit. */
  'no_room',
  /** Another record has the id. */
  'id_taken',
  /** This archive gave up the bytes for good. */
  'released',
] as const;
export type MirrorRefusal = (typeof MIRROR_REFUSALS)[number];

export const mirrorResultSchema = namedObject('MirrorResult', {
  /** Packs that were added. */
  packs: z.int(),
  /** Events that were recorded, because a capture brought a new version. */
  events: z.int(),
  /** Stored objects that this archive did not have, and their bytes. */
  objects: z.int(),
  bytes: z.int(),
  /** Packs and captures that this archive has already. */
  already_held: z.int(),
  /**
   * The next seven are left out if there are none. Objects of mirrored records whose bytes did not come, because the
   * peer withholds or released them.
   */
  not_given: z.int().min(1).optional(),
  /** What the peer withholds since the last time, and this archive now withholds too. */
  withheld: z.int().min(1).optional(),
  /** What the peer shows again, and this archive too. */
  shown: z.int().min(1).optional(),
  /** Bytes that the peer gave up and this archive holds. They are withheld here; whether to release them is yours. */
  released: z.int().min(1).optional(),
  /** What the peer says of objects that this archive has otherwise: it is for the owner to decide. */
  proposed: z.int().min(1).optional(),
  /** Deposits of packs in repositories, with their DOIs. */
  deposits: z.int().min(1).optional(),
  /** Sets whose parts did not come, because the peer does not show the list of the set. */
  sets_without_parts: z.int().min(1).optional(),
  /** The limits of one run that this one reached, as sentences. The next run goes on. Left out if there are none. */
  limits: z.array(z.string()).min(1).optional(),
  refused: z.array(z.strictObject({ reason: z.enum(MIRROR_REFUSALS), count: z.int().min(1) })),
});
export type MirrorResult = z.output<typeof mirrorResultSchema>;

/**
 * What a peer says of something that this archive has otherwise: that it withholds it, that it gave the bytes up, or that it
 * shows it again. Nothing of it changes here unless the owner takes it.
 */
export const peerProposalSchema = namedObject('PeerProposal', {
  number: z.int().min(1),
  kind: z.enum(['withheld', 'released', 'shown']),
  /** What it is here. One of the three is not null. */
  sha256: digestSchema.nullable(),
  pack: packIdSchema.nullable(),
  page: pageIdSchema.nullable(),
  /** The title of the pack, the address of the page capture, or where the object is; null if it has none. */
  name: z.string().nullable(),
  /** Why the peer does so, its note, and when. */
  reason: releasedReasonSchema,
  note: z.string().nullable(),
  at: instantSchema,
  /** The peer's ledger entry. */
  entry: z.int().min(1),
  proposed_at: instantSchema,
  /** Whether it is withheld here, because the owner took what the peer proposed. */
  is_withheld: z.boolean(),
  decision: z.enum(['take', 'leave']).nullable(),
});
export type PeerProposal = z.output<typeof peerProposalSchema>;

/** `take` withholds it here, or shows it again. `leave` changes nothing. */
export const proposalDecisionSchema = z.strictObject({ decision: z.enum(['take', 'leave']) });
export type ProposalDecision = z.output<typeof proposalDecisionSchema>['decision'];

/** From where a pack, or its deposit, was mirrored, with the proof that the peer's signed ledger has it. */
export const packProvenanceSchema = namedObject('PackProvenance', {
  peer: z.strictObject({ name: z.string(), key: z.string() }),
  mirrored_at: instantSchema,
  /** The peer's ledger entry of the pack, or of the deposit. */
  entry: ledgerEntrySchema,
  proof: inclusionProofSchema,
  /** The peer's checkpoint that the proof leads to, as a signed note. */
  checkpoint: z.string(),
});
export type PackProvenance = z.output<typeof packProvenanceSchema>;

/** The objects that were damaged or missing here: those that were put back, and those that no peer gave. */
export const repairResultSchema = z
  .strictObject({ restored: z.array(digestSchema), missing: z.array(digestSchema) })
  .meta({ id: 'RepairResult' });
export type RepairResult = z.output<typeof repairResultSchema>;

/** What to list of a peer. A page is small, because each one is fetched from the peer. */
export const browseQuery = z.strictObject({
  q: z.string().max(1_000).optional().meta({ description: 'Searched by the peer, as in its own list' }),
  limit: integerParameter(1, 100).default(25),
  offset: integerParameter(0, 1_000_000_000).default(0),
});
export type BrowseQuery = z.output<typeof browseQuery>;

/** A pack as the peer lists it. Nothing of it is verified before it is mirrored. */
export const peerPackSchema = namedObject('PeerPack', {
  id: packIdSchema,
  title: z.string(),
  authors: z.array(z.string()),
  outcome: outcomeSchema,
  tag: tagSchema,
  received_at: instantSchema,
  files: z.int().min(0),
  bytes: z.int().min(0),
  /** Whether this archive has the pack, with the same fingerprint. */
  held: z.boolean(),
});
export type PeerPack = z.output<typeof peerPackSchema>;

/** An event as the peer lists it. Nothing of it is verified before it is mirrored. */
export const peerEventSchema = namedObject('PeerEvent', {
  id: z.int().min(1),
  source: z.strictObject({ id: sourceIdSchema, name: z.string(), url: z.string() }),
  event_type: eventTypeSchema,
  observer: z.string(),
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  sha256: digestSchema.nullable(),
  /** Whether this archive has the bytes. */
  held: z.boolean(),
});
export type PeerEvent = z.output<typeof peerEventSchema>;

/** What the link of a node says, so that another node can add it as a peer. */
export interface PeerLink {
  url: string;
  key: string;
  /** The SHA-256 of its certificate, if the address is https. */
  tls_fingerprint?: string | undefined;
}

/** The page of a node that the link opens in a browser. */
const PAGE = '/sharing';

/**
 * Returns the link of a node. In a browser it opens the node's own page; the key and the fingerprint are in the fragment,
 * which browsers send to no server. It has no secret.
 */
export function peerLink({ url, key, tls_fingerprint }: PeerLink): string {
  const values = new URLSearchParams({ key, ...(tls_fingerprint ? { tls: tls_fingerprint } : {}) });
  return `${url.replace(/\/+$/, '')}${PAGE}#${values.toString()}`;
}

/** Returns whether a fragment is that of such a link. */
export function isPeerFragment(hash: string): boolean {
  return hash.startsWith('#key=');
}

/** Reads a link that a person scanned or pasted. Undefined if it is none. */
export function parsePeerLink(text: string): PeerLink | undefined {
  const link = URL.parse(text.trim());
  if (
    !link ||
    !/^https?:$/.test(link.protocol) ||
    !isPeerFragment(link.hash) ||
    !link.pathname.endsWith(PAGE)
  )
    return undefined;
  const values = new URLSearchParams(link.hash.slice(1));
  // As it is written: a fingerprint that cannot be read must be refused, and not be taken for none.
  const tls_fingerprint = values.get('tls');
  return {
    url: `${link.origin}${link.pathname.slice(0, -PAGE.length)}`,
    key: values.get('key') ?? '',
    ...(tls_fingerprint === null ? {} : { tls_fingerprint }),
  };
}
