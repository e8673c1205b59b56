import { z } from 'zod';
import {
  type BrowseQuery,
  type PeerEvent,
  type PeerPack,
  peerEventSchema,
  peerPackSchema,
} from '../../shared/node/peer.ts';
import { digestSchema } from '../../shared/values/digest.ts';
import type { Slice } from '../../shared/values/list.ts';
import { packById } from '../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { listOf, type PeerClient } from './peerClient.ts';

/** A hundred packs have at most this size together, unless their records are very long. */
const MAX_PAGE_BYTES = 8 * 1_048_576;
const MAX_ITEMS = 100;

/** Control characters, and those that change the direction of the text around them. */
// oxlint-disable-next-line no-control-regex -- They are what is removed.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A stranger's text for one line of the interface. */
function line(maxCharacters: number) {
  return z.string().transform((text) => text.replace(UNPRINTABLE, ' ').slice(0, maxCharacters));
}

const total = z.int().min(0);
const { id, outcome, tag, received_at, files, bytes } = peerPackSchema.shape;

const listedPacks = z.object({
  total,
  items: listOf(
    z.object({
      id,
      digest: digestSchema,
      title: line(300),
      authors: listOf(z.object({ name: line(200) }), 100),
      outcome,
      tag,
      evidence: z.object({ received_at, files, bytes }),
    }),
    MAX_ITEMS,
  ),
});

const listedEvents = z.object({
  total,
  items: listOf(
    z.object({
      ...peerEventSchema.omit({ source: true, held: true }).shape,
      observer: line(200),
      source: z.object({ id: peerEventSchema.shape.source.shape.id, name: line(300), url: line(4_096) }),
    }),
    MAX_ITEMS,
  ),
});

/** Lists the packs of a peer as it shows them, newest first. @throws PeerError */
export async function browsePacks(
  client: PeerClient,
  database: ReadDatabase,
  query: BrowseQuery,
): Promise<Slice<PeerPack>> {
  const listed = await client.json(`/api/packs?${parameters(query)}`, listedPacks, MAX_PAGE_BYTES);
  const items = listed.items.slice(0, query.limit).map(({ evidence, digest, authors, ...pack }) => ({
    ...pack,
    ...evidence,
    authors: authors.map(({ name }) => name),
    held: packById(database, pack.id)?.digest === digest,
  }));
  return { items, total: listed.total };
}

/** Lists the timeline of a peer as it shows it, newest first. @throws PeerError */
export async function browseEvents(
  client: PeerClient,
  database: ReadDatabase,
  query: BrowseQuery,
): Promise<Slice<PeerEvent>> {
  const listed = await client.json(`/api/events?${parameters(query)}`, listedEvents, MAX_PAGE_BYTES);
  const items = listed.items.slice(0, query.limit).map((event) => ({
    ...event,
    held: event.sha256 !== null && blobBytes(database, event.sha256) !== undefined,
  }));
  return { items, total: listed.total };
}

function parameters({ q, limit, offset }: BrowseQuery): string {
  return new URLSearchParams({
    ...(q ? { q } : {}),
    limit: String(limit),
    offset: String(offset),
  }).toString();
}
