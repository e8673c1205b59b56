import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { readEndpointFile } from '../store/endpointFile.ts';
import { UsageError } from './command.ts';

/** The address of a node that was started with no options. */
export const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;

/** The options by which a command finds a running node. */
export interface NodeOptions {
  url?: string | undefined;
  data: string;
  'token-file'?: string | undefined;
}

/** A running node; requests are sent as its owner. */
export interface RunningNode {
  /** @throws Error if no node answers, if another program answers, or if the node refuses the request */
  request(
    method: string,
    path: string,
    body?: { type: string; bytes: Uint8Array<ArrayBuffer> },
  ): Promise<unknown>;
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
  return {
    async request(method, path, body) {
      const address = URL.parse(path, url);
      if (!address) throw new UsageError(`${JSON.stringify(url)} is not a valid URL.`);
      const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
      const init: RequestInit = { method, headers };
      if (body) {
        headers['Content-Type'] = body.type;
        init.body = body.bytes;
      }
      let response: Response;
      try {
        response = await fetch(address, init);
      } catch (cause) {
        throw new Error(`No node answers at ${url}. Say where it listens with --url.`, { cause });
      }
      return readResponse(url, response);
    },
  };
}

async function readResponse(url: string, response: Response): Promise<unknown> {
  if (response.status === 401)
    throw new Error(`The node at ${url} has another owner's token. Name its data folder with --data.`);
  const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get('Content-Type') ?? '');
  const body = isJson ? ((await response.json()) as { detail?: unknown }) : undefined;
  if (response.ok && body !== undefined) return body;
  const detail = body?.detail;
  throw new Error(
    typeof detail === 'string' && response.status !== 404
      ? detail
      : `The program at ${url} is not a Strongroom node of this version.`,
  );
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no owner's token at ${file}.`);
    throw error;
  }
}
