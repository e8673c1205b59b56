import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedResponse {
  status?: number;
  headers?: Record<string, string>;
  /** A function gets how many requests for the path came before. */
  body?: string | Buffer | ((before: number) => string);
}

/** A web server on loopback with scripted pages. */
export interface ScriptedWeb {
  url(path: string): string;
  /** Sets the response of a path. */
  publish(path: string, response: ScriptedResponse | string): void;
  /** Returns the number of requests for a path so far. */
  requests(path: string): number;
  close(): Promise<void>;
}

/** Starts the server on a free port. Paths without a scripted page return 404. */
export async function openScriptedWeb(): Promise<ScriptedWeb> {
  const pages = new Map<string, ScriptedResponse>();
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const before = counts.get(path) ?? 0;
    counts.set(path, before + 1);
    const { status = 200, headers = {}, body = '' } = pages.get(path) ?? { status: 404, body: 'Not here.' };
    response
      .writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...headers })
      .end(typeof body === 'function' ? body(before) : body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    publish: (path, page) => {
      pages.set(path, typeof page === 'string' ? { body: page } : page);
    },
    requests: (path) => counts.get(path) ?? 0,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
