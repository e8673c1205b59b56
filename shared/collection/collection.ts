import { z } from 'zod';
import { fixitySchema } from '../ledger/fixity.ts';
import { sourceIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { sourceSchema } from './source.ts';

/** Why `/api/status` is 503. Only `overdue` is a fault. */
const STATUS_REASONS = ['no_sources', 'not_yet', 'overdue'] as const;
export type StatusReason = (typeof STATUS_REASONS)[number];

export const statusSchema = namedObject('Status', {
  ok: z.boolean(),
  /** Why no collection was completed within 24 hours; null if one was. */
  reason: z
    .enum(STATUS_REASONS)
    .nullable()
    .meta({
      description:
        '`no_sources`: no source is watched (paused sources and those known by captures only do not count). ' +
        '`not_yet`: no check of a watched source was due long enough ago. `overdue`: checks should have been made.',
    }),
  last_completed_collection_at: instantSchema.nullable(),
  age_seconds: z.int().nullable(),
  sources: z.strictObject({
    total: z.int(),
    available: z.int(),
    failing: z.int(),
  }),
  failing: z.array(
    z.strictObject({
      source: sourceSchema.pick({ id: true, url: true, name: true, agency: true, tags: true }),
      error: z.string().nullable(),
      status: z.int().nullable(),
      since: instantSchema,
      consecutive: z.int(),
    }),
  ),
  /** The limit that prevents storing new objects, or null. */
  storage: z.enum(['data_cap_reached', 'disk_nearly_full']).nullable(),
  /** How far the node's clock is behind the latest recorded time; 0 if it is not behind. */
  clock_behind_seconds: z.int().min(0),
  /** The integrity of the stored bytes. `ok` does not depend on it. */
  fixity: fixitySchema,
});
export type Status = z.output<typeof statusSchema>;

export const statsSchema = namedObject('Stats', {
  sources: z.int(),
  observations: z.int(),
  archived_objects: z.int(),
  events: z.int(),
  derived_documents: z.int(),
});
export type Stats = z.output<typeof statsSchema>;

export const newCollectionSchema = z
  .strictObject({ sources: z.array(sourceIdSchema).max(10_000).optional() })
  .meta({ id: 'NewCollection' });

export const collectionResultSchema = namedObject('CollectionResult', {
  checked: z.int(),
  unchanged: z.int(),
  changed: z.int(),
  failed: z.int(),
  events: z.array(z.int()),
  /** None of at least three hosts responded, so the fault is assumed to be this node's own network. */
  observer_offline: z.boolean(),
});
export type CollectionResult = z.output<typeof collectionResultSchema>;

export const roundPauseSchema = namedObject('RoundPause', {
  paused: z.enum(['metered', 'battery_low']).nullable(),
});
/** Why no round starts by itself: a metered network, or a battery that is nearly empty. */
export type RoundPause = z.output<typeof roundPauseSchema>['paused'];
