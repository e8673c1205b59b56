import { z } from 'zod';
import { markMembers } from '../node/withheld.ts';
import {
  digestSchema,
  pageIdSchema,
  peerIdSchema,
  sourceIdSchema,
  verifierKeySchema,
} from '../values/digest.ts';
import {
  booleanParameter,
  integerParameter,
  listQuery,
  namedObject,
  searchParameter,
} from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

export const EVENT_TYPES = ['first_seen', 'changed', 'unavailable', 'disappeared', 'recovered'] as const;
export const eventTypeSchema = z.enum(EVENT_TYPES);
export type EventType = (typeof EVENT_TYPES)[number];

/** Differing blocks that are listed by their number; further ones are only counted. */
export const MAX_LISTED_BLOCKS = 100;

export const AGREEMENTS = ['same_bytes', 'same_text', 'differs', 'unreachable'] as const;
export type Agreement = (typeof AGREEMENTS)[number];

/** Which blocks of the text differ. A block is a line that is not empty; the first one is number 1. */
export const differingBlocksSchema = z.strictObject({
  /** How many blocks this node's text has, and the peer's. */
  ours: z.int().min(0),
  theirs: z.int().min(0),
  /** The first blocks of this node's text that the peer did not get. */
  only_ours: z.array(z.int().min(1)).max(MAX_LISTED_BLOCKS),
  only_ours_count: z.int().min(0),
  only_theirs_count: z.int().min(0),
});
export type DifferingBlocks = z.output<typeof differingBlocksSchema>;

/** What an event says of a peer that fetched the same address at the same time. */
export const seenBySchema = namedObject('SeenBy', {
  peer: peerIdSchema,
  name: z.string(),
  key: verifierKeySchema,
  requested_at: instantSchema,
  fetched_at: instantSchema,
  agreement: z.enum(AGREEMENTS),
  status: z.int().nullable(),
  error: z.string().nullable(),
  sha256: digestSchema.nullable(),
  blocks: differingBlocksSchema.nullable().meta({
    description:
      'Which blocks of the text differ. A block is a line that is not empty. Null if the texts are the same, or cannot be compared.',
  }),
  statement: z.string().meta({ description: 'What the peer signed, as a signed note' }),
  ledger_entry: z.int().min(1),
});
export type SeenBy = z.output<typeof seenBySchema>;

/** The blocks of a text: its lines that are not empty, without the space around them. */
export function blocksOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Kinds of pages that are sent with status 200 although they are not what a person would see there. */
const PAGE_LABELS = ['error_page', 'bot_wall', 'rate_limit', 'script_shell'] as const;
export const pageLabelSchema = z.strictObject({ label: z.enum(PAGE_LABELS), reason: z.string() });
export type PageLabel = z.output<typeof pageLabelSchema>;

/** The length of a summary. */
export const MAX_SUMMARY_CHARACTERS = 80;

/** The source of an event or a text, with what a list shows of it. */
export const namedSourceSchema = z.strictObject({
  id: sourceIdSchema,
  url: z.string(),
  name: z.string(),
  agency: z.string(),
  tags: z.array(z.string()),
});

export const eventSchema = namedObject('Event', {
  id: z.int().min(1),
  source: namedSourceSchema,
  event_type: eventTypeSchema,
  observer: z.string().meta({
    description: '`self` for objects that the node retrieved itself; else the name of the archive.',
  }),
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  sha256: digestSchema.nullable(),
  previous_sha256: digestSchema.nullable(),
  reverts_to: z.int().nullable().meta({
    description:
      'The id of the event with which this digest first appeared, if the source returned to an older version.',
  }),
  page_label: pageLabelSchema.nullable(),
  page: pageIdSchema.nullable().meta({
    description: 'The page capture of an event by the observer `browser`; else null.',
  }),
  is_noise: z.boolean().nullable().meta({
    description:
      'Whether the source’s noise rules explain the entire change, or it is outside the watched part; null if neither was applied.',
  }),
  outside: z.boolean().meta({
    description:
      'The label `outside`: nothing changed in the part of the source that is watched. Derived, as `is_noise` is.',
  }),
  summary: z
    .string()
    .max(2 * MAX_SUMMARY_CHARACTERS)
    .nullable()
    .optional()
    .meta({
      description:
        'Only with `summaries=true`: what a change changed, in a few words of plain text; null if there is none (yet). Derived, and not recorded in the ledger.',
    }),
  ledger_entry: z.int(),
});
export type Event = z.output<typeof eventSchema>;

/** The ids of the events next to an event, in the order of the timeline; null at either end. */
const eventNeighboursSchema = namedObject('EventNeighbours', {
  newer: z.int().nullable(),
  older: z.int().nullable(),
  newer_of_source: z.int().nullable(),
  older_of_source: z.int().nullable(),
});
export type EventNeighbours = z.output<typeof eventNeighboursSchema>;

/** An event with the other observers of the same version, and the events next to it. */
export const eventDetailsSchema = eventSchema
  .extend({
    corroborated_by: z.array(z.string()).meta({
      description: 'Other observers that retrieved the same object from the same source.',
    }),
    neighbours: eventNeighboursSchema,
    seen_by: z.array(seenBySchema).meta({
      description: 'Peers that fetched the address within a minute of this node, and what they signed.',
    }),
    ...markMembers,
    previous_withheld: markMembers.withheld,
    previous_released: markMembers.released,
  })
  .meta({ id: 'EventDetails' });
export type EventDetails = z.output<typeof eventDetailsSchema>;

/** Who retrieved the version of an event, and when. Times are those of the observer. */
export const eventObserversSchema = namedObject('EventObservers', {
  sha256: digestSchema.nullable(),
  observers: z.array(
    z.strictObject({
      observer: z.string(),
      first: instantSchema,
      last: instantSchema,
      retrievals: z.int().min(1),
    }),
  ),
});
export type EventObservers = z.output<typeof eventObserversSchema>;

/** The values of the filter by label. `outside`: nothing changed in the watched part of the source. */
export const LABEL_FILTERS = [...PAGE_LABELS, 'outside', 'any', 'none'] as const;
export type LabelFilter = (typeof LABEL_FILTERS)[number];

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
  noise: booleanParameter.optional().meta({
    description:
      '`true`: only changes that the noise rules of their source explain. `false`: all other events.',
  }),
  label: z.enum(LABEL_FILTERS).optional().meta({
    description: 'Only events whose version has this label; `any`: has a label; `none`: has no label.',
  }),
});
export type EventsQuery = z.output<typeof eventsQuery>;

/** Adds the derived summaries, which appear some time after their events, to a list of events. */
export const summariesParameter = booleanParameter.optional().meta({
  description: '`true` adds to each change what changed, in a few words, once the node has derived it.',
});

/** With more buckets the bars of the chart would be too thin to see. */
const MAX_DENSITY_BUCKETS = 200;

export const eventDensityQuery = eventsQuery
  .pick({ since: true, until: true, noise: true })
  .extend({ buckets: integerParameter(1, MAX_DENSITY_BUCKETS).default(60) });
export type EventDensityQuery = z.output<typeof eventDensityQuery>;

/** The number of events in each bucket, oldest first. All buckets have the same length. */
export const eventDensitySchema = namedObject('EventDensity', {
  /** The start of the first bucket and the end of the last, both inclusive; null if there are no events. */
  since: instantSchema.nullable(),
  until: instantSchema.nullable(),
  total: z.int().min(0),
  counts: z.array(z.int().min(0)),
});
export type EventDensity = z.output<typeof eventDensitySchema>;

/** The number of events whose state can differ from that of the events around them. */
export const MAX_SEEN_EXCEPTIONS = 10_000;
/** The number of events that one request can mark. */
const MAX_MARKED = 500;

/** Which events the owner has seen: all up to `until`, except that `exceptions` reverses the state of single events. */
export const seenSchema = namedObject('Seen', {
  until: z.int().min(0),
  exceptions: z.array(z.int().min(1)).meta({
    description: 'Ids of events, ascending: unseen ones up to `until`, seen ones after it.',
  }),
  unseen: z.int().min(0).meta({ description: 'The number of unseen events, without noise.' }),
  unseen_noise: z.int().min(0).meta({ description: 'The number of unseen events that are only noise.' }),
});
export type Seen = z.output<typeof seenSchema>;

const eventIds = z.array(z.int().min(1)).max(MAX_MARKED, `At most ${MAX_MARKED} events.`);

export const seenChangeSchema = namedObject('SeenChange', {
  until: z.int().min(1).optional().meta({ description: 'Marks every event up to this one as seen.' }),
  seen: eventIds.optional(),
  unseen: eventIds.optional(),
});
export type SeenChange = z.output<typeof seenChangeSchema>;

export const ownEventsQuery = eventsQuery.extend({
  seen: booleanParameter.optional(),
  summaries: summariesParameter,
});

/** A page gets a label if the scores of its rules add up to this. */
export const LABEL_SCORE = 100;

/** What one rule found in a response. */
const qualityFindingSchema = z.strictObject({
  rule: z.string().meta({ description: 'The id of the rule, such as `wall.title`.' }),
  label: z.enum(PAGE_LABELS),
  score: z.int().min(1),
  reason: z.string(),
});
export type QualityFinding = z.output<typeof qualityFindingSchema>;

/** How the version of an event was judged when it was recorded, and what the rules find in it now. */
export const eventQualitySchema = namedObject('EventQuality', {
  recorded: pageLabelSchema.nullable().meta({ description: 'The label that the event has.' }),
  found: pageLabelSchema.nullable().meta({ description: 'The label by the rules of this version.' }),
  threshold: z.int().meta({ description: 'The score from which on a page gets the label.' }),
  findings: z.array(qualityFindingSchema),
});
export type EventQuality = z.output<typeof eventQualitySchema>;
