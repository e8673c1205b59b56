import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../node.ts';
import type { RawResponse } from './rawRequest.ts';

const run = promisify(execFile);

/** Changes the headers that a proxy forwards. */
export type Rewrite = (headers: Record<string, string>, client: string) => void;

/** The usual configuration of nginx and Caddy: keeps the Host and adds the client's address. */
const defaultProxy: Rewrite = (headers, client) => {
  const before = headers['x-forwarded-for'];
  headers['x-forwarded-for'] = before === undefined ? client : `${before}, ${client}`;
};

const servers: Server[] = [];

/** A proxy that terminates TLS with its own certificate and forwards everything to a node. */
export class TlsProxy {
  readonly #server: Server;
  readonly #name: string;
  readonly #certificate: string;
  /** The client address that the proxy reports. */
  client = '203.0.113.7';

  private constructor(server: Server, name: string, certificate: string) {
    this.#server = server;
    this.#name = name;
    this.#certificate = certificate;
  }

  static async open(name: string, nodeUrl: string, rewrite: Rewrite = defaultProxy): Promise<TlsProxy> {
    const folder = await temporaryFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    await run('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject]);
    const certificate = await readFile(cert, 'utf8');
    const server = createServer({ key: await readFile(key), cert: certificate });
    const proxy = new TlsProxy(server, name, certificate);
    server.on('request', (request, response) => {
      const headers = { ...(request.headers as Record<string, string>) };
      rewrite(headers, proxy.client);
      const { url = '', method } = request;
      const passed = httpRequest(
        new URL(nodeUrl).origin + url,
        { method, headers, agent: false },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      passed.on('error', () => response.destroy());
      request.pipe(passed);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return proxy;
  }

  /** Sends a request through the proxy, like a browser at the proxy's address. */
  async ask(
    path: string,
    {
      method = 'GET',
      headers = {},
      body,
    }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<RawResponse> {
    const request = httpsRequest({
      host: '127.0.0.1',
      port: (this.#server.address() as AddressInfo).port,
      servername: this.#name,
      ca: this.#certificate,
      path,
      method,
      headers: { Host: this.#name, ...headers },
      agent: false,
    });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return {
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      body: Buffer.concat(chunks).toString(),
    };
  }
}

/** For `afterEach`: closes all proxies. */
export function closeTlsProxies(): void {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
}
