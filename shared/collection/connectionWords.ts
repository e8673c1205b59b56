import type { Connection } from './connection.ts';

/* Apart from the schema, which evidence files do not need. */

/** Describes the server that answered, such as `203.0.113.5, port 443`. */
export function serverWords({ address, port }: Connection): string {
  return `${address}, port ${port}`;
}

/** Describes how it was reached, such as `HTTP/1.1 over TLS 1.3 (TLS_AES_256_GCM_SHA384)`. */
export function protocolWords({ http, tls }: Connection): string {
  const spoken = http === null ? 'HTTP' : `HTTP/${http}`;
  if (tls === null) return `${spoken} without encryption`;
  return `${spoken} over ${tls.version.replace(/^TLSv/, 'TLS ')} (${tls.cipher})`;
}
