import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TargetAddress } from '../../../server/copies/targets/openTarget.ts';

interface Version {
  id: string;
  /** undefined: a marker that says that the object was deleted. */
  bytes: Buffer | undefined;
}

/** What a store does not do, or does not let this access key do. */
interface Refusals {
  /** The status with which it answers DeleteObjects. */
  many?: number;
  /** The status with which it answers requests about versions. */
  versions?: number;
  /** Keys that it does not remove. */
  kept?: (key: string) => boolean;
}

/** The part of S3 that a copy uses, in a bucket that keeps older versions: Swift, the real store of the trials, has none. */
export class VersionedStore {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #objects = new Map<string, Version[]>();
  readonly refuses: Refusals;
  /** Each request: its method, and what it is about. */
  requests: string[] = [];
  #next = 0;

  constructor(refuses: Refusals = {}) {
    this.refuses = refuses;
  }

  async open(): Promise<TargetAddress> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}`;
    return { target: 's3://bucket/copy', endpoint, region: 'us-east-1', access_key: 'a', secret_key: 'b' };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  /** All versions of an object that have bytes, the newest first. */
  versionsOf(path: string): Buffer[] {
    return (this.#objects.get(`copy/${path}`) ?? []).flatMap(({ bytes }) => bytes ?? []);
  }

  paths(): string[] {
    return [...this.#objects]
      .filter(([, [newest]]) => newest?.bytes)
      .map(([key]) => key.replace('copy/', ''));
  }

  #add(key: string, bytes: Buffer | undefined): void {
    this.#next += 1;
    this.#objects.set(key, [{ id: `v${this.#next}`, bytes }, ...(this.#objects.get(key) ?? [])]);
  }

  #remove(key: string, version: string | null): void {
    if (version === null) return this.#add(key, undefined);
    const left = (this.#objects.get(key) ?? []).filter(({ id }) => id !== version);
    if (left.length > 0) this.#objects.set(key, left);
    else this.#objects.delete(key);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://store');
    const key = decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, '');
    const query = url.searchParams;
    const body = await buffer(request);
    this.requests.push(`${request.method} ${[...query.keys()].find((name) => name !== 'x-id') ?? 'object'}`);
    const xml = (status: number, text: string) =>
      response.writeHead(status, { 'Content-Type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
    const refuse = (status: number) =>
      xml(status, '<Error><Code>Refused</Code><Message>no</Message></Error>');
    const isAboutVersions = query.has('versioning') || query.has('versions') || query.has('versionId');
    if (isAboutVersions && this.refuses.versions) refuse(this.refuses.versions);
    else if (query.has('delete')) this.#deleteMany(request, body, xml, refuse);
    else if (query.has('versioning'))
      xml(200, '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>');
    else if (query.has('versions')) xml(200, this.#listVersions(query.get('prefix') ?? ''));
    else if (query.has('list-type')) xml(200, this.#list(query.get('prefix') ?? ''));
    else if (request.method === 'PUT') {
      this.#add(key, body);
      response.writeHead(200, { ETag: '"x"' }).end();
    } else if (request.method === 'DELETE') {
      if (this.refuses.kept?.(key)) return void refuse(403);
      this.#remove(key, query.get('versionId'));
      response.writeHead(204).end();
    } else {
      const bytes = this.#objects.get(key)?.[0]?.bytes;
      if (!bytes) xml(404, '<Error><Code>NoSuchKey</Code></Error>');
      else response.writeHead(200, { 'Content-Length': bytes.length }).end(bytes);
    }
  }

  #deleteMany(
    request: IncomingMessage,
    body: Buffer,
    xml: (status: number, text: string) => void,
    refuse: (status: number) => void,
  ): void {
    const md5 = createHash('md5').update(body).digest('base64');
    if (this.refuses.many) return refuse(this.refuses.many);
    // As older stores have it: this checksum, and no other.
    const isChecked = request.headers['content-md5'] === md5;
    if (!isChecked || Object.keys(request.headers).some((name) => name.startsWith('x-amz-checksum')))
      return refuse(400);
    const errors: string[] = [];
    for (const [, object = ''] of body.toString().matchAll(/<Object>(.*?)<\/Object>/gs)) {
      const key = /<Key>(.*?)<\/Key>/.exec(object)?.[1] ?? '';
      if (this.refuses.kept?.(key)) errors.push(`<Error><Key>${key}</Key><Code>AccessDenied</Code></Error>`);
      else this.#remove(key, /<VersionId>(.*?)<\/VersionId>/.exec(object)?.[1] ?? null);
    }
    xml(200, `<DeleteResult>${errors.join('')}</DeleteResult>`);
  }

  #listVersions(prefix: string): string {
    const items = [...this.#objects].flatMap(([key, versions]) =>
      versions.map(({ id, bytes }, index) => {
        const name = bytes ? 'Version' : 'DeleteMarker';
        return key.startsWith(prefix)
          ? `<${name}><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${index === 0}</IsLatest></${name}>`
          : '';
      }),
    );
    return `<ListVersionsResult><IsTruncated>false</IsTruncated>${items.join('')}</ListVersionsResult>`;
  }

  #list(prefix: string): string {
    const items = [...this.#objects]
      .filter(([key, [newest]]) => key.startsWith(prefix) && newest?.bytes)
      .map(
        ([key, [newest]]) => `<Contents><Key>${key}</Key><Size>${newest?.bytes?.length}</Size></Contents>`,
      );
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${items.join('')}</ListBucketResult>`;
  }
}
