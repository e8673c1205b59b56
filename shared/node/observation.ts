import { z } from 'zod';
import { AGREEMENTS, differingBlocksSchema } from '../collection/event.ts';
import { retrievalErrorSchema } from '../collection/retrieval.ts';
import { watchedUrlSchema } from '../collection/source.ts';
import { digestSchema, peerIdSchema, verifierKeySchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema, isNormalUrl } from '../values/text.ts';

/*
 * Seen by two at one moment: a node asks a peer to fetch an address that it has just fetched itself, and the peer signs
 * what it got. See docs/peers.md.
 */

const nonceSchema = z.string().regex(/^[0-9a-f]{32}$/, 'A nonce has 32 hex digits.');
const saltSchema = z.string().regex(/^[0-9a-f]{64}$/, 'A salt has 64 hex digits.');
/** The beginning of the SHA-256 of one block of text. */
const blockHashSchema = z.string().regex(/^[0-9a-f]{32}$/, 'A block is named by 32 hex digits.');

/** More blocks are not compared one by one. */
export const MAX_BLOCKS = 5_000;
/** The length of a signed note: an address and a few hundred characters. */
const noteSchema = z.string().max(65_536);

/** An address as it is signed. */
const signedUrlSchema = watchedUrlSchema.refine(isNormalUrl, 'The address is not in its normal form.');

/** What the node asks for. `commitment` fixes its own result without telling it: the SHA-256 of salt and digest. */
export const observationRequestSchema = z.strictObject({
  nonce: nonceSchema,
  url: signedUrlSchema,
  from: verifierKeySchema,
  to: verifierKeySchema,
  commitment: digestSchema,
  requested_at: instantSchema,
});
export type ObservationRequest = z.output<typeof observationRequestSchema>;

/** The text that a peer derived, by digest. */
const observedTextSchema = z.strictObject({
  sha256: digestSchema,
  /** The tool that derived it, with its version: texts of different tools are not compared. */
  tool: z.string().max(200),
  blocks: z.int().min(0),
  /** The SHA-256 of the names of all blocks, on a line each. */
  blocks_sha256: digestSchema,
});
export type ObservedText = z.output<typeof observedTextSchema>;

/** What the peer signs. `sha256` and `error` exclude each other. */
export const observationStatementSchema = z.strictObject({
  nonce: nonceSchema,
  /** The SHA-256 of the text of the request that it answers. */
  request: digestSchema,
  url: signedUrlSchema,
  by: verifierKeySchema,
  requested_at: instantSchema,
  fetched_at: instantSchema,
  status: z.int().min(0).max(999).nullable(),
  error: retrievalErrorSchema.nullable(),
  sha256: digestSchema.nullable(),
  bytes: z.int().min(0).nullable(),
  text: observedTextSchema.nullable(),
});
export type ObservationStatement = z.output<typeof observationStatementSchema>;

/** The body of a request to a peer: a signed note. */
export const observationCallSchema = z
  .strictObject({ request: noteSchema })
  .meta({ id: 'ObservationRequest' });

/** The answer of a peer. `blocks` are the names of the blocks that the statement has the digest of. */
export const observationAnswerSchema = z
  .strictObject({ statement: noteSchema, blocks: z.array(blockHashSchema).max(MAX_BLOCKS) })
  .meta({ id: 'ObservationAnswer' });

/**
 * What the ledger entry `observation.signed` records. At the node that asked, `event`, `salt` and `agreement` are set; at the
 * peer that answered, they are null. The texts are in neither.
 */
export const recordedObservationSchema = z.strictObject({
  nonce: nonceSchema,
  role: z.enum(['asked', 'answered']),
  at: instantSchema,
  /** The other node: its id as a peer of this one, its name here and its key. */
  peer: z.strictObject({ id: peerIdSchema, name: z.string(), key: verifierKeySchema }),
  request: noteSchema,
  statement: noteSchema,
  event: z.int().min(1).nullable(),
  salt: saltSchema.nullable(),
  agreement: z.enum(AGREEMENTS).nullable(),
  blocks: differingBlocksSchema.nullable(),
});
export type RecordedObservation = z.output<typeof recordedObservationSchema>;

/** The peers that are asked to fetch a source too, when it changes. */
export const sourceObserversSchema = namedObject('SourceObservers', {
  /** Why no peer is asked for this source, as a sentence; else null. */
  refusal: z.string().nullable(),
  peers: z.array(
    z.strictObject({
      peer: peerIdSchema,
      name: z.string(),
      asked: z.boolean(),
      /** When it was asked last, and why nothing was recorded then; null if its statement was. */
      asked_at: instantSchema.nullable(),
      error: z.string().nullable(),
    }),
  ),
});
export type SourceObservers = z.output<typeof sourceObserversSchema>;

/** Peers that one source can be seen by: each change asks all of them. */
const MAX_OBSERVERS = 5;

export const observersChangeSchema = z
  .strictObject({ peers: z.array(peerIdSchema).max(MAX_OBSERVERS, `At most ${MAX_OBSERVERS} peers.`) })
  .meta({ id: 'SourceObserversChange' });
