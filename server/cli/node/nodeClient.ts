import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobSchema } from '../../../shared/node/job.ts';
import { NOTHING_AT_PATH } from '../../../shared/problems.ts';
import {
  addressOf,
  type BodyInputOf,
  type QueryValues,
  type ResponseOf,
  type RouteSpec,
} from '../../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName, type RouteTable } from '../../../shared/routes.ts';

/** The node answered that it does not carry out the request. */
export class RefusedByNodeError extends Error {
  /** The code of the problem, if the node named one. */
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RefusedByNodeError';
    this.code = code;
  }
}

/** How requests reach a node. */
export interface NodeConnection {
  /** How the node is named in errors. */
  name: string;
  /** The owner's token. */
  token: string;
  request(options: RequestOptions): ClientRequest;
  /** The error for a node that does not answer. */
  unreachable(cause: unknown): Error;
}

interface Addressed {
  params?: Record<string, string | number>;
  query?: QueryValues;
}

interface CallOptions<Spec extends RouteSpec> extends Addressed {
  body?: BodyInputOf<Spec>;
}

/** The body of a request that is not parsed as a whole: its media type, and its bytes while they are read or made. */
interface StreamToSend extends Addressed {
  type: string;
  /** A chunk may be changed once the next one is asked for. */
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** The longest answer that is read as a whole. */
const MAX_ANSWER_BYTES = 67_108_864;

/** Sends requests to a node as its owner, by the names of its routes. Every call throws RefusedByNodeError, or Error if no node answers. */
export class NodeClient {
  readonly #connection: NodeConnection;

  constructor(connection: NodeConnection) {
    this.#connection = connection;
  }

  /** Sends a request and returns the JSON of the answer. */
  async call<Name extends RouteName>(
    name: Name,
    { body, ...where }: CallOptions<RouteTable[Name]> = {},
  ): Promise<ResponseOf<RouteTable[Name]>> {
    const sent = body === undefined ? undefined : jsonContent(body);
    return (await this.#readJson(await this.#exchange(name, where, sent))) as ResponseOf<RouteTable[Name]>;
  }

  /** Sends bytes to a route that takes them as they are. `isNew` is whether the node has created something. */
  async send<Name extends RouteName>(
    name: Name,
    { type, chunks, ...where }: StreamToSend,
  ): Promise<{ json: ResponseOf<RouteTable[Name]>; isNew: boolean }> {
    const answer = await this.#exchange(name, where, { type, chunks });
    const json = (await this.#readJson(answer)) as ResponseOf<RouteTable[Name]>;
    return { json, isNew: answer.statusCode === 201 };
  }

  /** Requests a file. */
  async download(name: RouteName, where: Addressed = {}): Promise<IncomingMessage> {
    const answer = await this.#exchange(name, where, undefined);
    // Anything but the file is an error, which is thrown.
    if (answer.statusCode !== 200) await this.#readJson(answer);
    return answer;
  }

  /**
   * Waits until a job that the node has started ends, and returns its result.
   *
   * @param onProgress called with what is done of how much, while the job runs
   */
  async finished(
    started: unknown,
    onProgress?: (done: number, total: number | null) => void,
  ): Promise<unknown> {
    let job = jobSchema.parse(started);
    for (let wait = FIRST_WAIT_MS; job.state === 'running'; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      onProgress?.(job.progress.done, job.progress.total);
      await sleep(wait);
      job = await this.call('readJob', { params: { id: job.id } });
    }
    if (job.state !== 'done')
      throw new RefusedByNodeError(job.error ?? 'The node was stopped.', job.error_code ?? undefined);
    onProgress?.(job.progress.done, job.progress.total);
    return job.result;
  }

  async #exchange(
    name: RouteName,
    where: Addressed,
    sent: Pick<StreamToSend, 'type' | 'chunks'> | undefined,
  ): Promise<IncomingMessage> {
    const { method, path } = ROUTE_SPECS[name];
    const outgoing = this.#connection.request({
      method,
      path: addressOf(path, where),
      headers: {
        Authorization: `Bearer ${this.#connection.token}`,
        ...(sent && { 'Content-Type': sent.type }),
      },
    });
    // After the answer began, what it is read by has the error of the connection.
    outgoing.on('error', () => {});
    // A body that is refused is answered before it is sent. The error of the connection that ends then says nothing more.
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    let isAnswered = false;
    const note = () => {
      isAnswered = true;
    };
    answered.then(note, note);
    try {
      for await (const chunk of sent?.chunks ?? []) {
        if (isAnswered) break;
        await write(outgoing, chunk);
      }
      if (!isAnswered) outgoing.end();
    } catch (error) {
      if (!isAnswered) outgoing.destroy();
      if (!isAnswered && !(error instanceof WriteError)) throw error;
    }
    try {
      const [answer] = await answered;
      return answer;
    } catch (cause) {
      throw this.#connection.unreachable(cause);
    }
  }

  async #readJson(answer: IncomingMessage): Promise<unknown> {
    const { name } = this.#connection;
    const { statusCode: status = 0, headers } = answer;
    const text = await readText(answer);
    // The rest of a body that was answered before it was sent.
    answer.destroy();
    if (status === 401)
      throw new Error(`${name} does not accept this owner's token. Name its data folder with --data.`);
    if (status === 204) return undefined;
    const isJson = /^application\/(problem\+)?json\b/.test(headers['content-type'] ?? '');
    const body = isJson ? (JSON.parse(text) as { detail?: unknown; code?: unknown }) : undefined;
    if (status < 300 && body !== undefined) return body;
    const detail = body?.detail;
    if (typeof detail === 'string' && detail !== NOTHING_AT_PATH)
      throw new RefusedByNodeError(detail, typeof body?.code === 'string' ? body.code : undefined);
    throw new Error(`${name} is not a Strongroom node of this version.`);
  }
}

/** The waits between two questions about a job: short ones first, since most jobs are short. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;

function jsonContent(value: unknown) {
  return { type: 'application/json', chunks: [Buffer.from(JSON.stringify(value))] };
}

/** Returns the text of a whole answer. @throws Error if it is too long */
export async function readText(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error('The answer of the node is too long.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The connection has ended. */
class WriteError extends Error {}

/** Resolves once the system has the chunk, so that chunks can share their memory. @throws WriteError */
function write(outgoing: ClientRequest, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(chunk, (error) => {
      if (error) reject(new WriteError('The connection has ended.', { cause: error }));
      else resolve();
    });
  });
}
