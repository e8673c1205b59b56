import { z } from 'zod';
import { outcomeSchema, tagSchema } from '../archive/vocabularySchemas.ts';
import { eventTypeSchema } from '../collection/event.ts';
import { digestSchema, packIdSchema, sourceIdSchema } from '../values/digest.ts';
import { integerParameter } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** What to list of a peer. A page is small, because each one is fetched from the peer. */
export const browseQuery = z.strictObject({
  q: z.string().max(1_000).optional().meta({ description: 'Searched by the peer, as in its own list' }),
  limit: integerParameter(1, 100).default(25),
  offset: integerParameter(0, 1_000_000_000).default(0),
});
export type BrowseQuery = z.output<typeof browseQuery>;

/** A pack as the peer lists it. Nothing of it is verified before it is mirrored. */
export const peerPackSchema = z
  .strictObject({
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
  })
  .meta({ id: 'PeerPack' });
export type PeerPack = z.output<typeof peerPackSchema>;

/** An event as the peer lists it. Nothing of it is verified before it is mirrored. */
export const peerEventSchema = z
  .strictObject({
    id: z.int().min(1),
    source: z.strictObject({ id: sourceIdSchema, name: z.string(), url: z.string() }),
    event_type: eventTypeSchema,
    observer: z.string(),
    observed_at: instantSchema,
    original_observed_at: instantSchema.nullable(),
    sha256: digestSchema.nullable(),
    /** Whether this archive has the bytes. */
    held: z.boolean(),
  })
  .meta({ id: 'PeerEvent' });
export type PeerEvent = z.output<typeof peerEventSchema>;
