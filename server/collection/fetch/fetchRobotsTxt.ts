import { RetrievalFailure } from './failure.ts';
import { isRedirect, redirectTarget } from './redirects.ts';
import type { Requester } from './requester.ts';
import { MAX_ROBOTS_BYTES, type RobotsResponse } from './robots.ts';

/** RFC 9309, section 2.3.1.2: at least five are followed. */
const MAX_ROBOTS_REDIRECTS = 5;

/**
 * Asks for a robots.txt, following its redirects.
 *
 * @throws RetrievalFailure `robots_unreachable` where an answer came that could not be read; what `Requester.ask` throws.
 */
export async function fetchRobotsTxt(requester: Requester, robots: URL): Promise<RobotsResponse> {
  let url = robots;
  for (let hops = 0; hops <= MAX_ROBOTS_REDIRECTS; hops += 1) {
    const { status, text, next } = await requester.ask(
      url,
      async () => ({}),
      async (answer) => ({
        status: answer.status,
        next: isRedirect(answer) ? targetOrNone(url, answer) : undefined,
        text: answer.status < 300 ? await readable(beginningOf(answer.body, MAX_ROBOTS_BYTES)) : '',
      }),
    );
    if (next === undefined) return { status, text };
    url = next;
  }
  return { status: 404, text: '' };
}

async function readable(text: Promise<string>): Promise<string> {
  try {
    return await text;
  } catch (error) {
    throw error instanceof RetrievalFailure ? new RetrievalFailure('robots_unreachable', error) : error;
  }
}

/** A redirect that leads nowhere is an answer like any other that is no robots.txt. */
function targetOrNone(from: URL, answer: Parameters<typeof redirectTarget>[1]): URL | undefined {
  try {
    return redirectTarget(from, answer);
  } catch (error) {
    if (error instanceof RetrievalFailure) return undefined;
    throw error;
  }
}

async function beginningOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    kept.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  // Without the mark of the byte order, which some editors put before the first rule.
  return Buffer.concat(kept)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}
