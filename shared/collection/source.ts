import { z } from 'zod';
import { digestSchema, sourceIdSchema } from '../values/digest.ts';
import { booleanParameter, integerParameter, listQuery, searchParameter } from '../values/list.ts';
import { httpUrlSchema, instantSchema, text } from '../values/text.ts';
import { eventTypeSchema, pageLabelSchema } from './event.ts';
import { noiseRulesSchema } from './noise.ts';

export const SOURCE_STATES = ['new', 'available', 'unavailable', 'gone'] as const;
export const sourceStateSchema = z.enum(SOURCE_STATES);
export type SourceState = (typeof SOURCE_STATES)[number];

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
};

/** A URL that can be watched: http(s), without a user name or password, because URLs are published. */
export const watchedUrlSchema = httpUrlSchema.refine((value) => {
  const url = URL.parse(value);
  // An invalid URL gets only the message of `httpUrlSchema`.
  return url === null || (url.username === '' && url.password === '');
}, 'A URL must not contain a user name or password, because it is published.');

export const newSourceSchema = z
  .strictObject({
    url: watchedUrlSchema,
    name: sourceFields.name.default(''),
    agency: sourceFields.agency.default(''),
    tags: sourceFields.tags.default([]),
    every_minutes: sourceFields.every_minutes.default(null),
    max_object_mb: sourceFields.max_object_mb.default(null),
    ignore_robots: sourceFields.ignore_robots.default(false),
    headers: sourceFields.headers.default({}),
    noise_rules: sourceFields.noise_rules.default([]),
  })
  .meta({ id: 'NewSource' });
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
export const sourceSchema = z
  .strictObject({
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
      description: 'Of the node’s own last event; of the newest captured version if `captures_only`.',
    }),
    page_label: pageLabelSchema.nullable().meta({ description: 'The label of the current version.' }),
    captures_only: z.boolean().meta({
      description: 'Whether the source is known by imported captures only: the node never checked it.',
    }),
  })
  .meta({ id: 'Source' });
export type Source = z.output<typeof sourceSchema>;

/** The number of recent checks that are listed with a source. */
export const RECENT_CHECKS = 30;

/** A source as the owner sees it, with its settings and the result of the last check. */
export const watchedSourceSchema = sourceSchema
  .extend({
    last_event_at: instantSchema.nullable(),
    recent_checks: z.array(z.string().nullable()).max(RECENT_CHECKS).meta({
      description: 'This node’s last attempts, oldest first: null for a success, else the error.',
    }),
    max_object_mb: z.number().nullable(),
    ignore_robots: z.boolean(),
    headers: z.record(z.string(), z.string()),
    noise_rules: noiseRulesSchema,
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

/** The reasons why an attempt yielded no object, as named in the contract. */
export const RETRIEVAL_ERRORS = [
  'http_error',
  'body_cut_short',
  'object_too_large',
  'redirect_loop',
  'too_many_redirects',
  'redirect_refused',
  'tls_error',
  'dns_error',
  'timeout',
  'connection_refused',
  'connection_reset',
  'host_unreachable',
  'invalid_response',
  'robots_disallowed',
  'robots_unreachable',
  'storage_full',
  'redirected',
  'invalid_url',
  'check_failed',
] as const;
export const retrievalErrorSchema = z.enum(RETRIEVAL_ERRORS);
export type RetrievalError = (typeof RETRIEVAL_ERRORS)[number];

/** The request that was sent. The values of the owner's headers are null, because they may be secrets. */
export const sentRequestSchema = z.strictObject({
  method: z.string(),
  headers: z.array(z.tuple([z.string(), z.string().nullable()])),
});
export type SentRequest = z.output<typeof sentRequestSchema>;

/** A redirect that was followed. Retrievals of earlier versions have no headers. */
export const redirectSchema = z.strictObject({
  url: z.string(),
  status: z.int(),
  /** Without cookies and credentials. Only `Location` if there are too many. */
  headers: z.array(z.tuple([z.string(), z.string()])).optional(),
});
export type Redirect = z.output<typeof redirectSchema>;

/** How the record of a third party's capture identifies itself. */
export const captureIdentitySchema = z.strictObject({
  record_id: z.string().nullable(),
  /** `<algorithm>:<hex>` */
  payload_digest: z.string().nullable(),
});

/** One attempt: exactly the fields that the ledger covers. */
export const recordedRetrievalSchema = z
  .strictObject({
    id: z.int(),
    source: sourceIdSchema,
    /** Null for a capture, which is not part of a round. */
    round: z.int().nullable(),
    url: z.string(),
    final_url: z.string(),
    redirects: z.array(redirectSchema),
    observer: z.string(),
    observed_at: instantSchema,
    original_observed_at: instantSchema.nullable(),
    status: z.int().nullable(),
    error: retrievalErrorSchema.nullable(),
    content_type: z.string().nullable(),
    headers: z.array(z.tuple([z.string(), z.string()])),
    /** Null if unknown. */
    request: sentRequestSchema.nullable(),
    sha256: digestSchema.nullable(),
    bytes: z.int().nullable(),
    duration_ms: z.int(),
    page_label: pageLabelSchema.nullable(),
    /** Null for this node's own retrievals, and for a capture whose record has no identity. */
    capture: captureIdentitySchema.nullable(),
  })
  .meta({ id: 'RecordedRetrieval' });
export type RecordedRetrieval = z.output<typeof recordedRetrievalSchema>;

export const retrievalSchema = recordedRetrievalSchema
  .extend({
    /** The entry `retrievals.recorded` that covers it. Null if none does, which verification reports. */
    ledger_entry: z.int().nullable(),
  })
  .meta({ id: 'Retrieval' });
export type Retrieval = z.output<typeof retrievalSchema>;

/** A proof that an entry covers a retrieval. `leaf` and `hashes` (RFC 6962, section 2.1.1) are in base64. */
export const retrievalProofSchema = z
  .strictObject({
    retrieval: recordedRetrievalSchema,
    /** SHA-256 of a zero byte and the retrieval's canonical JSON. */
    leaf: z.string().meta({ contentEncoding: 'base64' }),
    ledger_entry: z.int(),
    /** The entry's record: the range of retrievals it covers, and the root of their leaves in hex. */
    first: z.int(),
    last: z.int(),
    root: digestSchema,
    hashes: z.array(z.string().meta({ contentEncoding: 'base64' })),
  })
  .meta({ id: 'RetrievalProof' });
export type RetrievalProof = z.output<typeof retrievalProofSchema>;

export const provenRetrievalsQuery = z.strictObject({
  from: integerParameter(1, Number.MAX_SAFE_INTEGER).default(1),
  limit: listQuery.limit,
  source: sourceIdSchema.optional(),
  observer: z.string().max(200).optional(),
});
export type ProvenRetrievalsQuery = z.output<typeof provenRetrievalsQuery>;

/** Retrievals in the order of their ids, each with its proof. `next` is the id to go on from, or null at the end. */
export const provenRetrievalsSchema = z
  .strictObject({ items: z.array(retrievalProofSchema), limit: z.int(), next: z.int().nullable() })
  .meta({ id: 'ProvenRetrievals' });
export type ProvenRetrievals = z.output<typeof provenRetrievalsSchema>;

export const objectMetadataSchema = z
  .strictObject({
    sha256: digestSchema,
    bytes: z.int(),
    /** The names of the observers that retrieved it. */
    observers: z.array(z.string()),
    /** Whether at least two observers retrieved it from the same URL. */
    corroborated: z.boolean(),
    retrievals: z.array(
      z.strictObject({
        url: z.string(),
        time: instantSchema,
        status: z.int().nullable(),
        content_type: z.string().nullable(),
        /** The content codings of the stored bytes, such as `gzip`. Null if they are not encoded. */
        content_encoding: z.string().nullable(),
        observer: z.string(),
        original_observed_at: instantSchema.nullable(),
        /** Whether the stored bytes matched their digest at the time of this response. */
        intact: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'ObjectMetadata' });
export type ObjectMetadata = z.output<typeof objectMetadataSchema>;

export const sourcePreviewSchema = z
  .strictObject({
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
    /** The id of the source that already watches this URL. */
    watched_as: sourceIdSchema.nullable(),
    private_address: z.boolean().meta({
      description: 'Whether a source with this URL would be allowed at a private address.',
    }),
  })
  .meta({ id: 'SourcePreview' });
export type SourcePreview = z.output<typeof sourcePreviewSchema>;
