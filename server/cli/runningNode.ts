import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { readEndpointFile } from '../store/endpointFile.ts';
import { UsageError } from './command.ts';

/** Where a node listens unless it was told otherwise. */
export const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;

/** How a command that speaks with a running node is told where it is. */
export interface NodeOptions {
  url?: string | undefined;
  data: string;
  'token-file'?: string | undefined;
}

/** A running node, asked as its owner. */
export interface RunningNode {
  /** @throws Error with a sentence where nobody answers, or who answers is not this node or refuses. */
  ask(
    method: string,
    path: string,
    body?: { type: string; bytes: Uint8Array<ArrayBuffer> },
  ): Promise<unknown>;
}

/**
 * The node that has a data folder open: where it told that it listens, unless one is told where that is.
 *
 * @throws UsageError where there is no token, or the URL is none.
 */
export async function connectToNode(options: NodeOptions): Promise<RunningNode> {
  const told = await readEndpointFile(resolve(options.data));
  const url = options.url ?? told?.url ?? DEFAULT_URL;
  const token = await readToken(
    resolve(options['token-file'] ?? told?.token_file ?? join(options.data, 'owner-token')),
  );
  return {
    async ask(method, path, body) {
      const address = URL.parse(path, url);
      if (!address) throw new UsageError(`${JSON.stringify(url)} is no address.`);
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
      return readAnswer(url, response);
    },
  };
}

async function readAnswer(url: string, response: Response): Promise<unknown> {
  if (response.status === 401)
    throw new Error(`The node at ${url} has another owner's token. Name its data folder with --data.`);
  const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get('Content-Type') ?? '');
  const answer = isJson ? ((await response.json()) as { detail?: unknown }) : undefined;
  if (response.ok && answer !== undefined) return answer;
  const detail = answer?.detail;
  throw new Error(
    typeof detail === 'string' && response.status !== 404
      ? detail
      : `What answers at ${url} is no Strongroom node of this version.`,
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
