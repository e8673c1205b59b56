import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../../server/copies/targets/target.ts';

const PART = 8 * 1_048_576;
/** Five parts. */
const BYTES = randomBytes(4 * PART + 1_000);
const TYPE = { type: 'application/octet-stream' };

/** A store that takes parts as S3 does: what is completed are the parts it was told, with or without a gap. */
interface Store {
  url: string;
  /** The size of each part that it took, by number. */
  parts: Map<number, number>;
  completed: boolean;
  aborted: boolean;
  /** The number of the part that it refuses, once it may. */
  refused?: number;
  mayRefuse: PromiseWithResolvers<void>;
  wasRefused: PromiseWithResolvers<void>;
  /** The size that it claims to hold. */
  claimed?: number;
}

let server: Server | undefined;
let target: CopyTarget | undefined;
afterEach(async () => {
  await target?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

async function openStore(): Promise<Store> {
  const store: Store = {
    url: '',
    parts: new Map(),
    completed: false,
    aborted: false,
    mayRefuse: Promise.withResolvers(),
    wasRefused: Promise.withResolvers(),
  };
  server = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => answer(store, request, bytes, response));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  store.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return store;
}

function answer(store: Store, request: IncomingMessage, bytes: number, response: ServerResponse): void {
  const query = new URL(request.url ?? '/', store.url).searchParams;
  const number = Number(query.get('partNumber'));
  const xml = (status: number, text: string) =>
    response.writeHead(status, { 'Content-Type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
  if (request.method === 'HEAD') {
    const held = store.claimed ?? [...store.parts.values()].reduce((sum, part) => sum + part, 0);
    response.writeHead(200, { 'Content-Length': held }).end();
  } else if (query.has('uploads'))
    xml(200, '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>');
  else if (number > 0) {
    if (number === store.refused) {
      void store.mayRefuse.promise.then(() => {
        response.on('finish', store.wasRefused.resolve);
        xml(400, '<Error><Code>Refused</Code></Error>');
      });
      return;
    }
    store.parts.set(number, bytes);
    response.writeHead(200, { ETag: `"${number}"` }).end();
  } else if (request.method === 'DELETE') {
    store.aborted = true;
    response.writeHead(204).end();
  } else {
    store.completed = true;
    xml(200, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>');
  }
}

async function openBucket({ url }: Store): Promise<CopyTarget> {
  target = await openTarget({
    target: 's3://bucket/copy',
    endpoint: url,
    region: 'us-east-1',
    access_key: 'key',
    secret_key: 'secret',
  });
  return target;
}

/** The stored object is read in chunks; before each, `beforeChunk` is awaited. */
const CHUNK = PART / 4;
function object(beforeChunk: (number: number) => Promise<unknown> = async () => {}) {
  async function* read() {
    for (let start = 0; start < BYTES.length; start += CHUNK) {
      await beforeChunk(start / CHUNK);
      yield BYTES.subarray(start, start + CHUNK);
    }
  }
  return { read, size: BYTES.length, sha256: createHash('sha256').update(BYTES).digest('hex') };
}

test('takes every part of an object', async () => {
  const store = await openStore();
  await (await openBucket(store)).put('archive/one', object(), TYPE);
  expect([...store.parts.values()].reduce((sum, part) => sum + part, 0)).toBe(BYTES.length);
  expect(store).toMatchObject({ completed: true, aborted: false });
});

test.each([
  [1, 2],
  [2, 4],
  [3, 5],
])(
  'does not complete an object if the store refuses part %i while part %i is read',
  async (refused, read) => {
    const store = await openStore();
    store.refused = refused;
    // As on a slow disk: the part that is in flight fails, and the client knows, before the next one is there.
    const payload = object(async (number) => {
      if (number !== Math.min((read - 1) * 4 + 1, 16)) return;
      store.mayRefuse.resolve();
      await store.wasRefused.promise;
      await fetch(store.url, { method: 'HEAD' });
    });
    const rejected: unknown[] = [];
    const listener = (error: unknown) => rejected.push(error);
    process.on('unhandledRejection', listener);
    try {
      await expect((await openBucket(store)).put('archive/one', payload, TYPE)).rejects.toThrow(CopyError);
      expect(store).toMatchObject({ completed: false, aborted: true });
      expect(rejected).toEqual([]);
    } finally {
      process.off('unhandledRejection', listener);
    }
  },
);

test('an object that the store holds with another size is not counted as sent', async () => {
  const store = await openStore();
  store.claimed = BYTES.length - PART;
  const put = (await openBucket(store)).put('archive/one', object(), TYPE);
  await expect(put).rejects.toThrow('The store holds 25166824 bytes of an object of 33555432 bytes');
});

test('a cancelled upload leaves no parts', async () => {
  const store = await openStore();
  const abort = new AbortController();
  const payload = object(async (number) => (number === 12 ? abort.abort(new Error('cancelled')) : undefined));
  const put = (await openBucket(store)).put('archive/one', payload, { ...TYPE, signal: abort.signal });
  await expect(put).rejects.toThrow();
  expect(store).toMatchObject({ completed: false, aborted: true });
});
