import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';

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
export const connectionSchema = z
  .strictObject({
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
  })
  .meta({ id: 'RetrievalConnection' });
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
