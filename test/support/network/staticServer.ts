import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { isMissing } from '../../../server/store/files.ts';

/** A plain web server for a folder. It knows a few types by their names and nothing of Strongroom. */
export interface StaticServer {
  /** Ends with a slash. */
  url: string;
  close(): Promise<void>;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.xml': 'text/xml',
  '.atom': 'application/atom+xml',
};

/** Serves a folder on a free port of loopback. */
export async function openStaticServer(folder: string): Promise<StaticServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const path = pathname.endsWith('/') ? `${pathname}index.html` : decodeURIComponent(pathname);
    readFile(join(folder, path)).then(
      (bytes) => {
        response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      },
      (error: unknown) => response.writeHead(isMissing(error) ? 404 : 500).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
