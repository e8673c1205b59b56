import { RetrievalFailure } from './failure.ts';
import { isRedirect, redirectTarget } from './redirects.ts';
import type { Requester } from './requester.ts';
import { MAX_ROBOTS_BYTES, type RobotsResponse } from './robots.ts';

/** RFC 9309, section 2.3.1.2: crawlers should follow at least five. */
const MAX_ROBOTS_REDIRECTS = 5;

/**
 * Requests a robots.txt and follows its redirects. Too many redirects count as 404.
 *
 * @throws RetrievalFailure `robots_unreachable` if the body cannot be read; what `Requester.get` throws.
 */
export async function fetchRobotsTxt(requester: Requester, robots: URL): Promise<RobotsResponse> {
  let url = robots;
  for (let hops = 0; hops <= MAX_ROBOTS_REDIRECTS; hops += 1) {
    const { status, text, next } = await requester.get(
      url,
      async () => ({}),
      async (response) => ({
        status: response.status,
        next: isRedirect(response) ? validTarget(url, response) : undefined,
        text: response.status < 300 ? await readText(response.body) : '',
      }),
    );
    if (next === undefined) return { status, text };
    url = next;
  }
  return { status: 404, text: '' };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  try {
    return await readBeginning(body, MAX_ROBOTS_BYTES);
  } catch (error) {
    throw error instanceof RetrievalFailure ? new RetrievalFailure('robots_unreachable', error) : error;
  }
}

/** Returns undefined for a redirect without a valid target. It is then treated like any other 3xx response. */
function validTarget(from: URL, response: Parameters<typeof redirectTarget>[1]): URL | undefined {
  try {
    return redirectTarget(from, response);
  } catch (error) {
    if (error instanceof RetrievalFailure) return undefined;
    throw error;
  }
}

async function readBeginning(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    kept.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  // Some editors write a byte order mark at the start of the file.
  return Buffer.concat(kept)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}
