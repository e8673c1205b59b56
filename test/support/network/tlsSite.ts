import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../node.ts';

const run = promisify(execFile);
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const opened: Server[] = [];

/** A site with TLS whose certificate an authority of its own issued. */
export interface TlsSite {
  port: number;
  /** The authority's certificate in PEM; only tests that add it trust it. */
  authority: string;
  /** The SHA-256 of the site's certificate in DER, and that of its authority. */
  chain: string[];
  /** The number of connections so far. */
  connections: () => number;
}

/** Starts a site that has a name; `/moved` leads to `/page`, and any other path gives its own name. */
export async function openTlsSite(name: string): Promise<TlsSite> {
  const folder = await temporaryFolder();
  const path = (file: string) => join(folder, file);
  await run('openssl', [
    'req',
    '-x509',
    ...KEY,
    '-days',
    '2',
    '-subj',
    '/CN=Test authority',
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
  ]);
  await run('openssl', [
    'req',
    ...KEY,
    '-subj',
    `/CN=${name}`,
    '-keyout',
    path('site.key'),
    '-out',
    path('site.csr'),
  ]);
  await writeFile(path('site.ext'), `subjectAltName=DNS:${name}\n`);
  const issuer = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial'];
  await run('openssl', [
    'x509',
    '-req',
    '-in',
    path('site.csr'),
    ...issuer,
    '-days',
    '2',
    '-extfile',
    path('site.ext'),
    '-out',
    path('site.pem'),
  ]);
  const [site, authority] = [
    await readFile(path('site.pem'), 'utf8'),
    await readFile(path('ca.pem'), 'utf8'),
  ];
  const server = createServer({ key: await readFile(path('site.key')), cert: site + authority });
  let connections = 0;
  server.on('secureConnection', () => (connections += 1));
  server.on('request', (request, response) => {
    if (request.url !== '/moved') return void response.end(request.url);
    response.writeHead(302, { Location: '/page' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(server);
  return {
    port: (server.address() as AddressInfo).port,
    authority,
    chain: [site, authority].map((pem) =>
      createHash('sha256').update(new X509Certificate(pem).raw).digest('hex'),
    ),
    connections: () => connections,
  };
}

/** For `afterEach`: closes all sites. */
export function closeTlsSites(): void {
  for (const server of opened.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
}
