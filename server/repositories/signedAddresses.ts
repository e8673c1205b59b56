import { mayHoldToken } from '../../shared/collection/handedIn.ts';
import type { NewRetrieval } from '../store/sqlite/collection/retrievals.ts';

/**
 * Parameters of signed addresses, with which object stores and repositories give access to a file for some time: Amazon S3 (both
 * versions) and those that are like it, CloudFront, Google Cloud Storage, Azure (`sig`), OpenStack Swift, Akamai (`hdnea`), and
 * tokens in general.
 */
const SIGNED =
  /^(x-[a-z]+-(signature|credential|security-token|algorithm)|(q-)?signature|sig|(aws|oss)?accesskeyid|googleaccessid|key-pair-id|temp_url_sig|hmac|hdn(ea|ts|tl)|authz|(access_?|auth_?|api_?|id_?|download_?|secure_?)?token|api_?key|jwt|authorization)$/i;
/** Dataverse takes the token of an account, which is a UUID, in the parameter `key`. Elsewhere that names a file. */
const ACCOUNT_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns an address as it may be published: without its query if that is a signature, and without a name and password. */
export function publishedAddress(address: string): string {
  return strip(address, (url) =>
    [...url.searchParams].some(
      ([name, value]) => SIGNED.test(name) || (name === 'key' && ACCOUNT_KEY.test(value)),
    ),
  );
}

/** The same for the target of a redirect, which only the repository wrote: its query also goes if it may hold a token. */
function publishedTarget(address: string): string {
  const published = publishedAddress(address);
  return strip(
    published,
    ({ origin, search, hash }) => search + hash !== '' && mayHoldToken(`${origin}/${search}${hash}`),
  );
}

function strip(address: string, isSecret: (url: URL) => boolean): string {
  const url = URL.parse(address);
  if (url === null) return address;
  const isSigned = isSecret(url);
  if (!isSigned && url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  if (isSigned) url.search = url.hash = '';
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
  // An address that needs no change stays as it was written.
  const published = (written: string) => {
    const target = URL.parse(written, base)?.href ?? written;
    const stripped = publishedTarget(target);
    return stripped === target ? written : stripped;
  };
  return headers.map(([name, value]) => {
    if (ADDRESS.test(name)) return [name, published(value)];
    if (name.toLowerCase() !== 'link') return [name, value];
    return [name, value.replace(/<([^<>]*)>/g, (_, target: string) => `<${published(target)}>`)];
  });
}
