/** What the link of a node says, so that another node can add it as a peer. */
export interface PeerLink {
  url: string;
  key: string;
  /** The SHA-256 of its certificate, if the address is https. */
  tls_fingerprint?: string | undefined;
}

/** The page of a node that the link opens in a browser. */
const PAGE = '/sharing';

/**
 * Returns the link of a node. In a browser it opens the node's own page; the key and the fingerprint are in the fragment,
 * which browsers send to no server. It has no secret.
 */
export function peerLink({ url, key, tls_fingerprint }: PeerLink): string {
  const values = new URLSearchParams({ key, ...(tls_fingerprint ? { tls: tls_fingerprint } : {}) });
  return `${url.replace(/\/+$/, '')}${PAGE}#${values.toString()}`;
}

/** Returns whether a fragment is that of such a link. */
export function isPeerFragment(hash: string): boolean {
  return hash.startsWith('#key=');
}

/** Reads a link that a person scanned or pasted. Undefined if it is none. */
export function parsePeerLink(text: string): PeerLink | undefined {
  const link = URL.parse(text.trim());
  if (
    !link ||
    !/^https?:$/.test(link.protocol) ||
    !isPeerFragment(link.hash) ||
    !link.pathname.endsWith(PAGE)
  )
    return undefined;
  const values = new URLSearchParams(link.hash.slice(1));
  // As it is written: a fingerprint that cannot be read must be refused, and not be taken for none.
  const tls_fingerprint = values.get('tls');
  return {
    url: `${link.origin}${link.pathname.slice(0, -PAGE.length)}`,
    key: values.get('key') ?? '',
    ...(tls_fingerprint === null ? {} : { tls_fingerprint }),
  };
}
