const LOCAL_NAMES = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const PRIVATE_IPV4 =
  /^(10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
const PRIVATE_IPV6 = /^\[(::1\]|f[cd]|fe[89ab])/;

/**
 * Whether the address alone shows that a URL is in the private network. What a public name resolves to is only known to
 * the node, which reports it with a test fetch.
 */
export function looksPrivate(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/\.$/, '') ?? '';
  if (host === '') return false;
  if (/^\d+(\.\d+){3}$/.test(host)) return PRIVATE_IPV4.test(host);
  if (host.startsWith('[')) return PRIVATE_IPV6.test(host);
  return LOCAL_NAMES.test(host) || !host.includes('.');
}
