import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** The longest answer that is read. */
const MAX_ANSWER_BYTES = 67_108_864;

/**
 * Sends chunks as the body of a POST. Each is with the system before the next one is asked for, so that they can share
 * their memory: `fetch` would keep those that wait for the garbage collector.
 *
 * @returns the answer, which may come before all is sent
 * @throws Error if nothing answers; the errors of the chunks
 */
export async function sendChunks(
  url: URL,
  headers: Record<string, string>,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Response> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const outgoing = send(url, { method: 'POST', headers });
  // A body that is refused is answered before it is sent. The error of the connection that ends then says nothing more.
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  let isAnswered = false;
  answered.then(
    () => (isAnswered = true),
    () => (isAnswered = true),
  );
  try {
    for await (const chunk of chunks) {
      if (isAnswered) break;
      await write(outgoing, chunk);
    }
    if (!isAnswered) outgoing.end();
  } catch (error) {
    if (!isAnswered) outgoing.destroy();
    if (!isAnswered && !(error instanceof WriteError)) {
      answered.catch(() => undefined);
      throw error;
    }
  }
  const [incoming] = await answered.catch((cause: unknown) => {
    throw new Error(`No node answers at ${url.origin}, or it has ended.`, { cause });
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`The answer of ${url.origin} is too long.`);
    pieces.push(piece);
  }
  outgoing.destroy();
  const type = incoming.headers['content-type'] ?? '';
  return new Response(Buffer.concat(pieces), {
    status: incoming.statusCode ?? 0,
    headers: { 'Content-Type': type },
  });
}

/** The connection has ended. */
class WriteError extends Error {}

function write(outgoing: ClientRequest, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(chunk, (error) => {
      if (error) reject(new WriteError('The connection has ended.', { cause: error }));
      else resolve();
    });
  });
}
