import { z } from 'zod';
import { digestSchema, sourceIdSchema } from './digest.ts';
import { integerParameter, listQuery, searchParameter } from './list.ts';
import { instantSchema } from './text.ts';

export const EVENT_TYPES = ['first_seen', 'changed', 'unavailable', 'disappeared', 'recovered'] as const;
export const eventTypeSchema = z.enum(EVENT_TYPES);
export type EventType = (typeof EVENT_TYPES)[number];

/** `observer` of what the node retrieved itself. */
export const SELF = 'self';

/** Why a page that answered 200 may not be what it seems. */
export const PAGE_LABELS = ['error_page', 'bot_wall'] as const;
export const pageLabelSchema = z.strictObject({ label: z.enum(PAGE_LABELS), reason: z.string() });
export type PageLabel = z.output<typeof pageLabelSchema>;

export const eventSchema = z
  .strictObject({
    id: z.int().min(1),
    source: z.strictObject({
      id: sourceIdSchema,
      url: z.string(),
      name: z.string(),
      agency: z.string(),
      tags: z.array(z.string()),
    }),
    event_type: eventTypeSchema,
    observer: z.string(),
    observed_at: instantSchema,
    original_observed_at: instantSchema.nullable(),
    sha256: digestSchema.nullable(),
    previous_sha256: digestSchema.nullable(),
    /** The id of the event that first brought this same digest, where the source went back to an older version. */
    reverts_to: z.int().nullable(),
    page_label: pageLabelSchema.nullable(),
    /** Whether the source's noise rules explain all that changed; null where none were applied to it. */
    is_noise: z.boolean().nullable(),
    ledger_entry: z.int(),
  })
  .meta({ id: 'Event' });
export type Event = z.output<typeof eventSchema>;

/** An event by itself: with who else holds what it brought. */
export const eventDetailsSchema = eventSchema
  .extend({
    /** The other observers that brought the same object as a version of the same source. */
    corroborated_by: z.array(z.string()),
  })
  .meta({ id: 'EventDetails' });
export type EventDetails = z.output<typeof eventDetailsSchema>;

/** A date or an instant (RFC 3339) as a query value. */
const instantValue = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

export const eventsQuery = z.strictObject({
  ...listQuery,
  q: searchParameter.optional(),
  event_type: eventTypeSchema.optional(),
  source: sourceIdSchema.optional(),
  agency: z.string().max(200).optional(),
  tag: z.string().max(100).optional(),
  observer: z.string().max(200).optional(),
  since: instantValue.optional(),
  until: instantValue.optional(),
});
export type EventsQuery = z.output<typeof eventsQuery>;

/** More buckets than this would be thinner than can be seen. */
export const MAX_DENSITY_BUCKETS = 200;

export const eventDensityQuery = eventsQuery
  .pick({ since: true, until: true })
  .extend({ buckets: integerParameter(1, MAX_DENSITY_BUCKETS).default(60) });
export type EventDensityQuery = z.output<typeof eventDensityQuery>;

/** How many events there are in each of a number of buckets of the same length, oldest first. */
export const eventDensitySchema = z
  .strictObject({
    /** Where the first bucket begins and the last one ends, both included; null where there is no event to begin with. */
    since: instantSchema.nullable(),
    until: instantSchema.nullable(),
    total: z.int().min(0),
    counts: z.array(z.int().min(0)),
  })
  .meta({ id: 'EventDensity' });
export type EventDensity = z.output<typeof eventDensitySchema>;
