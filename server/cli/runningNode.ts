import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../shared/node/job.ts';
import { NOTHING_AT_PATH } from '../../shared/problems.ts';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { readEndpointFile } from '../store/opening/folderLock.ts';
import { UsageError } from './command.ts';

/** The address of a node that was started with no options. */
export const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;

/** The options by which a command finds a running node. */
export interface NodeOptions {
  url?: string | undefined;
  /** What gives the address; `--url` by default. */
  addressOption?: '--node';
  data: string;
  'token-file'?: string | undefined;
}

/** The body of a request: bytes, or a file that is read while it is sent. */
interface RequestContent {
  type: string;
  bytes: Uint8Array<ArrayBuffer> | Blob;
}

/** Returns the body of a request in JSON. */
export function jsonContent(value: unknown): RequestContent {
  return { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(value)) };
}

/** A running node; requests are sent as its owner. */
export interface RunningNode {
  /** @throws RefusedByNodeError; Error if no node answers or if another program answers */
  request(method: string, path: string, body?: RequestContent): Promise<unknown>;
  /** As `request`, with the status of the response. */
  send(method: string, path: string, body?: RequestContent): Promise<{ status: number; json: unknown }>;
  /** Sends chunks while they are made. A chunk may be changed once the next one is asked for. @throws like `request` */
  upload(path: string, type: string, chunks: AsyncIterable<Uint8Array>): Promise<unknown>;
  /** Requests a file. @throws like `request` */
  download(path: string): Promise<Response>;
}

/** The node answered that it does not carry out the request. */
export class RefusedByNodeError extends Error {
  /** The code of the problem, if the node named one. */
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.name = 'RefusedByNodeError';
    this.code = code;
  }
}

/**
 * Connects to the node that has a data folder open: at `--url` if it is given, else at the address that the node wrote
 * into the folder.
 *
 * @throws UsageError if there is no token or the URL is invalid
 */
export async function connectToNode(options: NodeOptions): Promise<RunningNode> {
  const endpoint = await readEndpointFile(resolve(options.data));
  const url = options.url ?? endpoint?.url ?? DEFAULT_URL;
  const token = await readToken(
    resolve(options['token-file'] ?? endpoint?.token_file ?? join(options.data, 'owner-token')),
  );
  const fetchFrom = async (method: string, path: string, body?: RequestContent): Promise<Response> => {
    const address = URL.parse(path, url);
    if (!address) throw new UsageError(`${JSON.stringify(url)} is not a valid URL.`);
    const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
    const init: RequestInit = { method, headers };
    if (body) {
      headers['Content-Type'] = body.type;
      init.body = body.bytes;
    }
    try {
      return await fetch(address, init);
    } catch (cause) {
      throw new Error(
        `No node answers at ${url}. Give its address with ${options.addressOption ?? '--url'}.`,
        { cause },
      );
    }
  };
  const send: RunningNode['send'] = async (method, path, body) => {
    const response = await fetchFrom(method, path, body);
    return { status: response.status, json: await readResponse(url, response) };
  };
  return {
    send,
    request: async (method, path, body) => (await send(method, path, body)).json,
    upload: async (path, type, chunks) => {
      const address = URL.parse(path, url);
      if (!address) throw new UsageError(`${JSON.stringify(url)} is not a valid URL.`);
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
      return readResponse(url, await sendChunks(address, headers, chunks));
    },
    download: async (path) => {
      const response = await fetchFrom('GET', path);
      // Anything but the file is an error, which is thrown.
      if (!response.ok) await readResponse(url, response);
      return response;
    },
  };
}

/** How often the node is asked for the state of a job. */
const POLL_INTERVAL_MS = 250;

/** Waits until a job of the node has ended, and returns its result. @throws Error if it failed or was cancelled */
export async function finishedJob(node: RunningNode, started: Job): Promise<unknown> {
  let job = started;
  while (job.state === 'running') {
    await sleep(POLL_INTERVAL_MS);
    job = (await node.request('GET', `/manage/jobs/${job.id}`)) as Job;
  }
  if (job.state !== 'done') throw new RefusedByNodeError(job.error ?? 'The node was stopped.', undefined);
  return job.result;
}

async function readResponse(url: string, response: Response): Promise<unknown> {
  if (response.status === 401)
    throw new Error(
      `The node at ${url} does not accept this owner's token. Name its data folder with --data.`,
    );
  if (response.status === 204) return undefined;
  const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get('Content-Type') ?? '');
  const body = isJson ? ((await response.json()) as { detail?: unknown; code?: unknown }) : undefined;
  if (response.ok && body !== undefined) return body;
  const detail = body?.detail;
  if (typeof detail === 'string' && detail !== NOTHING_AT_PATH)
    throw new RefusedByNodeError(detail, typeof body?.code === 'string' ? body.code : undefined);
  throw new Error(`The program at ${url} is not a Strongroom node of this version.`);
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no owner's token at ${file}.`);
    throw error;
  }
}

/** The longest answer that is read. */
const MAX_ANSWER_BYTES = 67_108_864;

/**
 * Sends chunks as the body of a POST. Each is with the system before the next one is asked for, so that they can share
 * their memory: `fetch` would keep those that wait for the garbage collector.
 *
 * @returns the answer, which may come before all is sent
 * @throws Error if nothing answers; the errors of the chunks
 */
async function sendChunks(
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
