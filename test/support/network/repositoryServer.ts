import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { entryOf, type FileStep, type Kind, md5, pageOf, type ServedRecord } from './repositoryRecords.ts';

interface SeenRequest {
  path: string;
  headers: IncomingMessage['headers'];
}

const opened: RepositoryServer[] = [];

/**
 * A repository on loopback that answers as the published interface of its kind does, with a DOI resolver in front
 * (`/doi/<doi>`). The shapes follow the documentation of each one; the data are made up.
 */
export class RepositoryServer {
  readonly kind: Kind;
  readonly seen: SeenRequest[] = [];
  /** Answers before everything else, by path; the last step stays. */
  readonly faults = new Map<string, FileStep[]>();
  readonly #server: Server;
  readonly #records = new Map<string, ServedRecord>();

  private constructor(kind: Kind) {
    this.kind = kind;
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async open(kind: Kind): Promise<RepositoryServer> {
    const server = new RepositoryServer(kind);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    opened.push(server);
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get resolver(): string {
    return `${this.origin}/doi`;
  }

  add(record: ServedRecord): ServedRecord {
    this.#records.set(record.id, record);
    return record;
  }

  /** The page of a record, to which its DOI leads. */
  landingPath({ id, doi }: ServedRecord): string {
    switch (this.kind) {
      case 'zenodo':
      case 'invenio':
        return `/records/${id}`;
      case 'dataverse':
        return `/dataset.xhtml?persistentId=doi:${doi}`;
      case 'osf':
        return `/${id}/`;
      case 'figshare':
        return `/articles/dataset/A_title/${id}/1`;
      case 'dryad':
        return `/dataset/doi:${doi}`;
      case 'signposting':
      case 'schemaOrg':
        return `/page/${id}`;
    }
  }

  /** The requests for a file of a record. */
  requestsFor(record: ServedRecord, index: number): SeenRequest[] {
    const path = this.filePath(record, index);
    return this.seen.filter((request) => request.path === path || request.path.startsWith(`${path}/`));
  }

  /** The address of a file of a record. */
  filePath({ id }: ServedRecord, index: number): string {
    return this.kind === 'dataverse' ? `/api/access/datafile/${id}-${index}` : `/bytes/${id}/${index}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    this.seen.push({ path, headers: request.headers });
    const faults = this.faults.get(path);
    const fault = faults && faults.length > 1 ? faults.shift() : faults?.[0];
    if (fault) return fault(response, request, Buffer.alloc(0));
    const url = new URL(path, this.origin);
    if (url.pathname.startsWith('/doi/')) return this.#resolve(url, response);
    if (url.pathname.startsWith('/bytes/')) return this.#sendFile(url, request, response);
    const dataFile = /^\/api\/access\/datafile\/([^/]+)-(\d+)$/.exec(url.pathname);
    if (dataFile)
      return this.#sendFile(new URL(`/bytes/${dataFile[1]}/${dataFile[2]}`, url), request, response);
    const answer = this.#answer(url);
    if (answer === undefined) return void response.writeHead(404).end('Not here.');
    const { body, type = 'application/json', headers = {} } = answer;
    response.writeHead(200, { 'Content-Type': type, ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  #resolve(url: URL, response: ServerResponse): void {
    const doi = decodeURIComponent(url.pathname.slice('/doi/'.length)).toLowerCase();
    const record = [...this.#records.values()].find(
      (one) => one.doi.toLowerCase() === doi || one.conceptDoi?.toLowerCase() === doi,
    );
    if (!record) return void response.writeHead(404).end('No such DOI.');
    response.writeHead(302, { Location: this.origin + this.landingPath(record) }).end();
  }

  #sendFile(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const [, , id = '', index = ''] = url.pathname.split('/');
    const file = this.#records.get(id)?.files[Number(index)];
    if (!file) return void response.writeHead(404).end();
    if (file.restricted) return void response.writeHead(403).end('Not for the public.');
    const { steps = [] } = file;
    const step = steps.length > 1 ? steps.shift() : steps[0];
    (step ?? sendWhole)(response, request, file.bytes);
  }

  #answer(url: URL): { body: unknown; type?: string; headers?: Record<string, string> } | undefined {
    for (const record of this.#records.values()) {
      const landing = new URL(this.landingPath(record), this.origin);
      if (url.pathname === landing.pathname && url.search === landing.search) return pageOf(this, record);
      const body = entryOf(this, record, url);
      if (body !== undefined) return { body };
    }
    return undefined;
  }
}

/** For `afterEach` or `afterAll`: closes all servers. */
export async function closeRepositoryServers(): Promise<void> {
  for (const server of opened.splice(0)) await server.close();
}

/** Sends a file; a range of it if one is asked for. */
export const sendWhole: FileStep = (response, request, bytes) => {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const headers = { 'Content-Type': 'text/csv', 'Accept-Ranges': 'bytes', ETag: `"${md5(bytes)}"` };
  if (start === 0)
    return void response.writeHead(200, { ...headers, 'Content-Length': bytes.length }).end(bytes);
  response.writeHead(206, {
    ...headers,
    'Content-Range': `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
    'Content-Length': bytes.length - start,
  });
  response.end(bytes.subarray(start));
};

/** Sends as much of a file, or of the rest that was asked for, and then breaks the connection. */
export function breakAfter(count: number, headers: Record<string, string> = {}): FileStep {
  return (response, request, bytes) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const rest = bytes.subarray(start);
    response.writeHead(start === 0 ? 200 : 206, {
      'Content-Type': 'text/csv',
      'Content-Length': rest.length,
      ETag: `"${md5(bytes)}"`,
      ...(start > 0 && { 'Content-Range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
      ...headers,
    });
    response.write(rest.subarray(0, count), () => response.socket?.destroy());
  };
}

export function answer(status: number, headers: Record<string, string> = {}, body = ''): FileStep {
  return (response) => void response.writeHead(status, headers).end(body);
}
