import { z } from 'zod';
import { digestSchema, pageIdSchema, sourceIdSchema } from '../values/digest.ts';
import { booleanParameter, listQuery, namedObject, searchParameter } from '../values/list.ts';
import { instantSchema, publicUrlSchema, text } from '../values/text.ts';
import { eventTypeSchema, pageLabelSchema } from './event.ts';
import { followRunSchema, followSchema } from './follow.ts';
import { noiseRulesSchema, watchSchema } from './noise.ts';
import { PROFILE_STATES, profileIdSchema } from './profile.ts';
import { retrievalErrorSchema } from './retrieval.ts';
import { activeHoursSchema, cronSchema, timeZoneSchema } from './schedule.ts';

export const SOURCE_STATES = ['new', 'available', 'unavailable', 'gone'] as const;
export const sourceStateSchema = z.enum(SOURCE_STATES);
export type SourceState = (typeof SOURCE_STATES)[number];

/** What is kept of a source: the object, or also the page as a person sees it. */
export const CAPTURE_MODES = ['object', 'page'] as const;
export type CaptureMode = (typeof CAPTURE_MODES)[number];

/** Why a page could not be drawn. The check itself does not fail. */
export const PAGE_ERRORS = [
  'no_browser',
  'page_timeout',
  'page_crashed',
  'page_too_large',
  'page_released',
  'profile_expired',
] as const;
export type PageError = (typeof PAGE_ERRORS)[number];

const everyMinutes = z.int().min(1, 'At least 1 minute.').max(525_600, 'At most one year.');
const maxObjectMb = z.number().gt(0, 'More than 0.').max(10_000, 'At most 10000 MB.');
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'This is not a valid header name.');
const headerValue = z.string().regex(/^[\t\x20-\x7e]{0,4096}$/, 'A header value must be printable ASCII.');

/** Headers that the collector sets itself. The owner's headers must not override them. */
const RESERVED_HEADERS =
  /^(host|connection|keep-alive|content-.*|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|range|proxy-.*|if-.*)$/i;

const headersSchema = z
  .record(headerName, headerValue)
  .refine((headers) => Object.keys(headers).length <= 30, 'At most 30 headers.')
  .refine((headers) => !Object.keys(headers).some((name) => RESERVED_HEADERS.test(name)), {
    message: 'The collector sets Host, Accept-Encoding, Range, length and conditional headers itself.',
  });

const sourceFields = {
  name: text(0, 200),
  agency: text(0, 200),
  tags: z.array(text(1, 100)).max(50, 'At most 50 tags.'),
  every_minutes: everyMinutes.nullable(),
  max_object_mb: maxObjectMb.nullable(),
  ignore_robots: z.boolean(),
  headers: headersSchema,
  noise_rules: noiseRulesSchema,
  watch: watchSchema.nullable().meta({
    description:
      'The part that is watched: only a change of it counts for alerts, for summaries and as not noise. Null for everything.',
  }),
  every: cronSchema.nullable().meta({
    description: 'A cron expression of five fields, which replaces `every_minutes`; null for none.',
  }),
  time_zone: timeZoneSchema.nullable().meta({
    description: 'The time zone of `every`. Null: that of `active_hours`, else UTC.',
  }),
  active_hours: activeHoursSchema.nullable(),
  follow: followSchema.nullable(),
  capture: z.enum(CAPTURE_MODES).meta({
    description:
      '`object`: what the server sends. `page`: also the page as a browser draws it, with everything it loads.',
  }),
  picture_events: z.number().gt(0, 'More than 0.').max(1, 'At most 1.').nullable().meta({
    description:
      'Only for `page`: the share of changed pixels from which a change of the picture alone is an event; null for none.',
  }),
  profile: profileIdSchema.nullable().meta({
    description: 'The profile with which it is watched, which must be of its site; null for none.',
  }),
  keep_days: z.int().min(1, 'At least 1 day.').max(36_500, 'At most 36500 days.').nullable().meta({
    description:
      'After how many days the bytes of a version are given up for good. The newest version is kept, and so is what a pack, a finding, a case or another source needs. Null: bytes are kept.',
  }),
};

/** A URL that can be watched. */
export const watchedUrlSchema = publicUrlSchema;

export const newSourceSchema = namedObject('NewSource', {
  url: watchedUrlSchema,
  name: sourceFields.name.default(''),
  agency: sourceFields.agency.default(''),
  tags: sourceFields.tags.default([]),
  every_minutes: sourceFields.every_minutes.default(null),
  max_object_mb: sourceFields.max_object_mb.default(null),
  ignore_robots: sourceFields.ignore_robots.default(false),
  headers: sourceFields.headers.default({}),
  noise_rules: sourceFields.noise_rules.default([]),
  watch: sourceFields.watch.default(null),
  every: sourceFields.every.default(null),
  time_zone: sourceFields.time_zone.default(null),
  active_hours: sourceFields.active_hours.default(null),
  follow: sourceFields.follow.default(null),
  capture: sourceFields.capture.default('object'),
  picture_events: sourceFields.picture_events.default(null),
  profile: sourceFields.profile.default(null),
  keep_days: sourceFields.keep_days.default(null),
});
export type NewSource = z.output<typeof newSourceSchema>;

export const sourceChangeSchema = z
  .strictObject({
    ...sourceFields,
    paused: z.boolean(),
    allow_private: z.boolean().meta({ description: 'Whether the source may be at a private address.' }),
  })
  .partial()
  .meta({ id: 'SourceChange' });
export type SourceChange = z.output<typeof sourceChangeSchema>;

/** A source as visitors see it. */
export const sourceSchema = namedObject('Source', {
  id: sourceIdSchema,
  url: z.string(),
  name: z.string(),
  agency: z.string(),
  tags: z.array(z.string()),
  last_checked_at: instantSchema.nullable(),
  state: sourceStateSchema,
  every_minutes: z.int().nullable().meta({ description: 'Null if the node’s default interval applies.' }),
  paused: z.boolean(),
  added_at: instantSchema,
  last_sha256: digestSchema.nullable(),
  last_event_type: eventTypeSchema.nullable().meta({
    description:
      'Of the node’s own last event, also of its browser; of the newest captured version if `captures_only`.',
  }),
  page_label: pageLabelSchema.nullable().meta({ description: 'The label of the current version.' }),
  capture: z.enum(CAPTURE_MODES),
  page_error: z.enum(PAGE_ERRORS).nullable().meta({
    description:
      'Why the page could not be drawn at the last check; null if it was, or `capture` is `object`.',
  }),
  last_page: pageIdSchema.nullable().meta({ description: 'The newest page capture.' }),
  captures_only: z.boolean().meta({
    description: 'Whether the source is known by imported captures only: the node never checked it.',
  }),
});
export type Source = z.output<typeof sourceSchema>;

/** The number of recent checks that are listed with a source. */
export const RECENT_CHECKS = 30;

/** A source as the owner sees it, with its settings and the result of the last check. */
export const watchedSourceSchema = sourceSchema
  .extend({
    last_event_at: instantSchema
      .nullable()
      .meta({ description: 'The time of the event of `last_event_type`.' }),
    recent_checks: z.array(z.string().nullable()).max(RECENT_CHECKS).meta({
      description: 'This node’s last attempts, oldest first: null for a success, else the error.',
    }),
    max_object_mb: z.number().nullable(),
    ignore_robots: z.boolean(),
    headers: z.record(z.string(), z.string()),
    noise_rules: noiseRulesSchema,
    watch: watchSchema.nullable(),
    watch_lost_at: instantSchema.nullable().meta({
      description:
        'Since when the watched part is not found in the newest version; null if it is, or everything is watched.',
    }),
    every: z.string().nullable(),
    time_zone: z.string().nullable(),
    active_hours: activeHoursSchema.nullable(),
    follow: followSchema.nullable(),
    picture_events: z.number().nullable(),
    profile: profileIdSchema.nullable(),
    login: z
      .enum([...PROFILE_STATES, 'missing'])
      .nullable()
      .meta({
        description:
          'The state of the login for this source; `missing` if it needs one and its profile was deleted or not restored: then it is not fetched. Null if it is watched without a login.',
      }),
    login_expired_at: instantSchema.nullable().meta({
      description: 'Since when the site no longer accepts the profile for this source.',
    }),
    keep_days: z.int().nullable(),
    follow_run: followRunSchema.nullable().meta({ description: 'The newest reading of its links.' }),
    found_waiting: z.int().meta({ description: 'How many addresses that it brought wait for approval.' }),
    found_in: sourceIdSchema.nullable().meta({ description: 'The source in which its address was found.' }),
    unlinked_at: instantSchema.nullable().meta({
      description: 'Since when that source no longer links to it or lists it.',
    }),
    allow_private: z.boolean().meta({
      description:
        'Whether the source may be at a private, loopback or link-local address. Decided when it was added.',
    }),
    next_check_at: instantSchema.nullable(),
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
    consecutive_failures: z.int(),
    failing_since: instantSchema.nullable(),
    removed: z.boolean(),
  })
  .meta({ id: 'WatchedSource' });
export type WatchedSource = z.output<typeof watchedSourceSchema>;

/** The orders of a list of sources. `state` puts failing sources first. */
export const SOURCE_ORDERS = ['added', 'name', 'state', 'agency', 'checked', 'next', 'changed'] as const;
export type SourceOrder = (typeof SOURCE_ORDERS)[number];

export const sourcesQuery = z.strictObject({
  ...listQuery,
  q: searchParameter.optional(),
  agency: z.string().max(200).optional(),
  tag: z.string().max(100).optional(),
  state: sourceStateSchema.optional(),
  sort: z
    .enum([...SOURCE_ORDERS, ...SOURCE_ORDERS.map((order) => `-${order}` as const)])
    .default('-added')
    .meta({ description: 'A leading `-` reverses the order. `state` puts failing sources first.' }),
  paused: booleanParameter.optional(),
});
export type SourcesQuery = z.output<typeof sourcesQuery>;

export const previewRequestSchema = namedObject('PreviewRequest', {
  url: watchedUrlSchema,
  profile: sourceFields.profile.default(null),
});

/** What would be watched, and how it would be followed. */
export const followPreviewRequestSchema = namedObject('FollowPreviewRequest', {
  url: watchedUrlSchema,
  follow: followSchema,
  profile: sourceFields.profile.default(null),
});
export type FollowPreviewRequest = z.output<typeof followPreviewRequestSchema>;

export const sourcePreviewSchema = namedObject('SourcePreview', {
  url: z.string(),
  final_url: z.string(),
  status: z.int().nullable(),
  error: retrievalErrorSchema.nullable(),
  content_type: z.string().nullable(),
  sha256: digestSchema.nullable(),
  bytes: z.int().nullable(),
  title: z.string().nullable(),
  duration_ms: z.int(),
  page_label: pageLabelSchema.nullable(),
  drawn_by_script: z.boolean().meta({
    description:
      'Whether the document has next to no text before its scripts run: then `capture: page` is advised.',
  }),
  /** The id of the source that already watches this URL. */
  watched_as: sourceIdSchema.nullable(),
  private_address: z.boolean().meta({
    description: 'Whether a source with this URL would be allowed at a private address.',
  }),
});
export type SourcePreview = z.output<typeof sourcePreviewSchema>;

/** The accepted media types of a list of sources. */
export const LIST_MEDIA_TYPES = {
  'text/plain': 'text',
  'text/csv': 'csv',
  'text/x-opml': 'opml',
  'application/xml': 'opml',
  'text/xml': 'opml',
  'text/html': 'bookmarks',
} as const;
export type ListFormat = (typeof LIST_MEDIA_TYPES)[keyof typeof LIST_MEDIA_TYPES];

export const MAX_LIST_ENTRIES = 10_000;
export const MAX_LIST_BYTES = 8_388_608;

export const LIST_OUTCOMES = ['added', 'already', 'refused'] as const;

/** The result of an import: the outcome of each entry, in the order of the list. */
export const sourceImportSchema = namedObject('SourceImport', {
  added: z.int(),
  already: z.int(),
  refused: z.int(),
  /** The unknown columns of a CSV list. */
  ignored_columns: z.array(z.string()),
  items: z.array(
    z.strictObject({
      /** The line number in the list, from 1. */
      line: z.int(),
      url: z.string(),
      outcome: z.enum(LIST_OUTCOMES),
      source: sourceIdSchema.optional(),
      /** Why it was refused: a stable code and a sentence for people. */
      code: z.string().optional(),
      detail: z.string().optional(),
    }),
  ),
});
export type SourceImport = z.output<typeof sourceImportSchema>;
