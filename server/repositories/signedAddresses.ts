import { mayHoldToken } from '../../shared/collection/handedIn.ts';
import type { NewRetrieval } from '../store/sqlite/collection/retrievals.ts';

/**
 * Parameters of signed addresses, with which object stores and repositories give access to a file for some time: Amazon S3 (both
 * versions) and CloudFront, Google Cloud Storage, Azure (`sig`), OpenStack Swift, and tokens in general.
 */
const SIGNED =
  /^(x-amz-(signature|credential|security-token|algorithm)|x-goog-(signature|credential|algorithm)|signature|sig|awsaccesskeyid|googleaccessid|key-pair-id|temp_url_sig|hmac|(access_?|auth_?|api_?|id_?|download_?|secure_?)?token|api_?key|jwt|authorization)$/i;

/** Returns an address as it may be published: without its query if that is a signature, and without a name and password. */
export function publishedAddress(address: string): string {
  return strip(address, (url) => [...url.searchParams.keys()].some((name) => SIGNED.test(name)));
}

/** The same for the target of a redirect, which only the repository wrote: its query also goes if it may hold a token. */
function publishedTarget(address: string): string {
  const published = publishedAddress(address);
  return strip(published, (url) => url.search !== '' && mayHoldToken(`${url.origin}/${url.search}`));
}

function strip(address: string, isSecret: (url: URL) => boolean): string {
  const url = URL.parse(address);
  if (url === null) return address;
  const isSigned = isSecret(url);
  if (!isSigned && url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  if (isSigned) url.search = '';
  return url.href;
}

/** Headers of a response whose value is an address. */
const ADDRESS = /^(location|content-location)$/i;

/** Returns a retrieval as it is recorded: retrievals are public, and a signed address gives the file to everybody. */
export function withoutSignatures<
  Retrieval extends Pick<NewRetrieval, 'url' | 'final_url' | 'redirects' | 'headers'>,
>(retrieval: Retrieval): Retrieval {
  const { url, final_url, redirects, headers } = retrieval;
  return {
    ...retrieval,
    url: publishedAddress(url),
    final_url: final_url === url ? publishedAddress(url) : publishedTarget(final_url),
    redirects: redirects.map((hop, index) => ({
      ...hop,
      url: index === 0 ? publishedAddress(hop.url) : publishedTarget(hop.url),
      ...(hop.headers && { headers: publishedHeaders(hop.headers, hop.url) }),
    })),
    headers: publishedHeaders(headers, final_url),
  };
}

function publishedHeaders(headers: readonly [string, string][], base: string): [string, string][] {
  return headers.map(([name, value]) => {
    if (ADDRESS.test(name)) {
      const target = URL.parse(value, base)?.href ?? value;
      const published = publishedTarget(target);
      return [name, published === target ? value : published];
    }
    if (name.toLowerCase() !== 'link') return [name, value];
    return [name, value.replace(/<([^<>]*)>/g, (_, target: string) => `<${publishedTarget(target)}>`)];
  });
}
