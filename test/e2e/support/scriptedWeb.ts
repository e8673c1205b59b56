import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedResponse {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A web on loopback whose pages say what they are told to, until they are told something else. */
export interface ScriptedWeb {
  url(path: string): string;
  /** From now on the path answers with this. */
  publish(path: string, answer: ScriptedResponse | string): void;
  /** How often the path was asked for. */
  requests(path: string): number;
  close(): Promise<void>;
}

/** Opens the web on a free port; every path that nothing was published at answers 404. */
export async function openScriptedWeb(): Promise<ScriptedWeb> {
  const pages = new Map<string, ScriptedResponse>();
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const { status = 200, headers = {}, body = '' } = pages.get(path) ?? { status: 404, body: 'Not here.' };
    response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    publish: (path, answer) => {
      pages.set(path, typeof answer === 'string' ? { body: answer } : answer);
    },
    requests: (path) => counts.get(path) ?? 0,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
