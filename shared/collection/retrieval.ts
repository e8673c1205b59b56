import { z } from 'zod';
import { markMembers } from '../node/withheld.ts';
import { digestSchema, partOfSchema, sourceIdSchema } from '../values/digest.ts';
import { integerParameter, listQuery, namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { pageLabelSchema } from './event.ts';

/** The most addresses of a name, and the most certificates of a chain, that are kept. */
export const MAX_DNS_ADDRESSES = 64;
export const MAX_CERTIFICATES = 16;
/** The largest certificate that is kept. */
export const MAX_CERTIFICATE_BYTES = 65_536;

const short = z.string().max(100);

/** A certificate in DER, as an object of the archive. */
const certificateSchema = z.strictObject({
  bytes: z.int().min(1).max(MAX_CERTIFICATE_BYTES),
  sha256: digestSchema,
});

/**
 * The connection over which a response came. Only the node itself says so: no signature of the server covers it. The
 * members are in the order of canonical JSON.
 */
const connectionSchema = namedObject('RetrievalConnection', {
  /** The IP address that answered. */
  address: short,
  /** All addresses that the name had, in the order of the resolver. Null if the URL has an IP address. */
  dns: z.array(short).max(MAX_DNS_ADDRESSES).nullable(),
  /** The HTTP version of the first response on the connection, such as `1.1`. Null if it is unknown. */
  http: short.nullable(),
  port: z.int().min(0).max(65_535),
  /** Null for a connection without TLS. */
  tls: z
    .strictObject({
      /** The server's certificate first, then those of its issuers. Empty if there was no space for them. */
      certificates: z.array(certificateSchema).max(MAX_CERTIFICATES),
      /** The name that IANA has for the cipher suite. */
      cipher: short,
      /** Such as `TLSv1.3`. */
      version: short,
    })
    .nullable(),
});
export type Connection = z.output<typeof connectionSchema>;
type Certificate = z.output<typeof certificateSchema>;

/** Returns the connections of a retrieval: those of its redirects, then its own. */
function connectionsOf(retrieval: {
  connection?: Connection | null | undefined;
  redirects: readonly { connection?: Connection | undefined }[];
}): Connection[] {
  return [...retrieval.redirects.map(({ connection }) => connection), retrieval.connection].filter(
    (connection) => connection !== undefined && connection !== null,
  );
}

/** Returns the certificates that a retrieval names, each once. */
export function certificatesOf(retrieval: Parameters<typeof connectionsOf>[0]): Certificate[] {
  const all = connectionsOf(retrieval).flatMap(({ tls }) => tls?.certificates ?? []);
  return [...new Map(all.map((certificate) => [certificate.sha256, certificate])).values()];
}

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
  'profile_expired',
  'profile_missing',
] as const;
export const retrievalErrorSchema = z.enum(RETRIEVAL_ERRORS);
export type RetrievalError = (typeof RETRIEVAL_ERRORS)[number];

/** The request that was sent. The values of the owner's headers are null, because they may be secrets. */
const sentRequestSchema = z.strictObject({
  method: z.string(),
  headers: z.array(z.tuple([z.string(), z.string().nullable()])),
  /** The body of a POST request, which is an object; absent if there was none. */
  body: z.strictObject({ sha256: digestSchema, bytes: z.int().min(0) }).optional(),
});
export type SentRequest = z.output<typeof sentRequestSchema>;

/** A redirect that was followed. Retrievals of earlier versions have no headers. */
export const redirectSchema = z.strictObject({
  url: z.string(),
  status: z.int(),
  /** Without cookies and credentials. Only `Location` if there are too many. */
  headers: z.array(z.tuple([z.string(), z.string()])).optional(),
  /** Absent if it is unknown. */
  connection: connectionSchema.optional(),
});
export type Redirect = z.output<typeof redirectSchema>;

/** How the record of a third party's capture identifies itself. */
export const captureIdentitySchema = z.strictObject({
  record_id: z.string().nullable(),
  /** `<algorithm>:<hex>` */
  payload_digest: z.string().nullable(),
});

/** One attempt: exactly the fields that the ledger covers. */
export const recordedRetrievalSchema = namedObject('RecordedRetrieval', {
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
  /** The page capture, or what was handed in, that it is part of. Absent if it is a check or a capture of its own. */
  part_of: partOfSchema.optional(),
  /** Null for this node's own retrievals, and for a capture whose record has no identity. */
  capture: captureIdentitySchema.nullable(),
  /** The connection to `final_url`. Absent if nothing answered, or it is unknown. */
  connection: connectionSchema.optional(),
});
export type RecordedRetrieval = z.output<typeof recordedRetrievalSchema>;

/** Returns the digests of the objects that a retrieval names: what it brought, what it sent, and certificates. */
export function objectsOf(retrieval: RecordedRetrieval): string[] {
  const named = [retrieval, retrieval.request?.body, ...certificatesOf(retrieval)];
  return named.flatMap((object) => object?.sha256 ?? []);
}

export const retrievalSchema = recordedRetrievalSchema
  .extend({
    /** The entry `retrievals.recorded` that covers it. Null if none does, which verification reports. */
    ledger_entry: z.int().nullable(),
  })
  .meta({ id: 'Retrieval' });
export type Retrieval = z.output<typeof retrievalSchema>;

/** A proof that an entry covers a retrieval. `leaf` and `hashes` (RFC 6962, section 2.1.1) are in base64. */
export const retrievalProofSchema = namedObject('RetrievalProof', {
  retrieval: recordedRetrievalSchema,
  /** SHA-256 of a zero byte and the retrieval's canonical JSON. */
  leaf: z.string().meta({ contentEncoding: 'base64' }),
  ledger_entry: z.int(),
  /** The entry's record: the range of retrievals it covers, and the root of their leaves in hex. */
  first: z.int(),
  last: z.int(),
  root: digestSchema,
  hashes: z.array(z.string().meta({ contentEncoding: 'base64' })),
});
export type RetrievalProof = z.output<typeof retrievalProofSchema>;

export const provenRetrievalsQuery = z.strictObject({
  from: integerParameter(1, Number.MAX_SAFE_INTEGER).default(1),
  limit: listQuery.limit,
  source: sourceIdSchema.optional(),
  observer: z.string().max(200).optional(),
  part_of: partOfSchema.optional().meta({
    description:
      'Only the parts of this page capture, or of what was handed in. Without it, no parts are listed.',
  }),
});
export type ProvenRetrievalsQuery = z.output<typeof provenRetrievalsQuery>;

/** Retrievals in the order of their ids, each with its proof. `next` is the id to go on from, or null at the end. */
export const provenRetrievalsSchema = z
  .strictObject({ items: z.array(retrievalProofSchema), limit: z.int(), next: z.int().nullable() })
  .meta({ id: 'ProvenRetrievals' });
export type ProvenRetrievals = z.output<typeof provenRetrievalsSchema>;

export const objectMetadataSchema = namedObject('ObjectMetadata', {
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
      /** The page capture, or what was handed in, that it is part of; null if it is a check or a capture of its own. */
      part_of: partOfSchema.nullable(),
      /** The connection over which it came; null if it is unknown. */
      connection: connectionSchema.nullable(),
      /** Whether the stored bytes matched their digest at the time of this response. */
      intact: z.boolean(),
    }),
  ),
  ...markMembers,
});
export type ObjectMetadata = z.output<typeof objectMetadataSchema>;

/**
 * Returns the content codings of a response in the order in which they were applied (RFC 9110, section 8.4), for example
 * `gzip`, or null if its body is not encoded.
 */
export function contentEncodingOf(headers: readonly (readonly [string, string])[]): string | null {
  const codings = headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  return codings.length > 0 ? codings.join(', ') : null;
}
