import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { S3ServiceException } from '@aws-sdk/client-s3';
import type { AroundPlace } from '../../../server/copies/targets/openTarget.ts';
import type { Payload, RawTarget } from '../../../server/copies/targets/target.ts';

/** What a disk, a network or a store reports. */
export const ERRORS = ['EIO', 'ENOSPC', 'EACCES', 'reset', 'busy', 'timeout'] as const;
/** What neither reports: a body that ends early, goes on, or has another byte. */
export const SILENT = ['truncated', 'longer', 'altered'] as const;
export type ErrorKind = (typeof ERRORS)[number];
export type SilentKind = (typeof SILENT)[number];

/** What goes wrong, once, or from then on. Calls and bodies are counted from 1, over all places of a plan. */
export type Fault =
  | {
      /** A call fails before it does anything, or `late`: it is done, and its answer is lost. */
      call: number;
      how: ErrorKind;
      late?: boolean;
      /** All calls after it fail too: the disk or the network is gone. */
      isLasting?: boolean;
    }
  /** The body that is read, or written, in this turn: at this byte, or at its end if it is shorter. */
  | { body: 'read' | 'write'; turn: number; byte: number; how: ErrorKind | SilentKind };

/** A body that went through a place, as it was without a fault. */
interface Body {
  path: string;
  bytes: number;
}

/**
 * A plan of what goes wrong in the places of copies. `around` is what `aroundCopies` of a node, and `around` of `openTarget`,
 * take: it wraps the place as it is, beneath what gives its errors their words. So a test sees what an owner sees.
 */
export class FaultPlan {
  #fault: Fault | undefined;
  /** The calls since `begin`, each with what it was about. */
  calls: string[] = [];
  read: Body[] = [];
  written: Body[] = [];
  /** What the fault hit; undefined if it has not come to it. */
  hit: string | undefined;
  readonly #concerns: (name: string) => boolean;

  /** @param concerns whether a place can fail, by its name */
  constructor(concerns: (name: string) => boolean = () => true) {
    this.#concerns = concerns;
  }

  /** Counts anew; from now on, this goes wrong. */
  begin(fault?: Fault): void {
    this.#fault = fault;
    this.calls = [];
    this.read = [];
    this.written = [];
    this.hit = undefined;
  }

  readonly around: AroundPlace = (place) => (this.#concerns(place.name) ? flaky(place, this) : place);

  /** Counts a call. Returns the error with which it fails, and when. */
  call(place: string, what: string): { error: Error; isLate: boolean } | undefined {
    this.calls.push(what);
    const fault = this.#fault;
    if (!fault || !('call' in fault)) return undefined;
    const number = this.calls.length;
    if (fault.isLasting ? number < fault.call : number !== fault.call) return undefined;
    this.hit ??= what;
    return { error: errorOf(fault.how, place), isLate: fault.late === true };
  }

  /** Counts a body. Returns what happens to it. */
  body(kind: 'read' | 'write', body: Body): { byte: number; how: ErrorKind | SilentKind } | undefined {
    const bodies = kind === 'read' ? this.read : this.written;
    bodies.push(body);
    const fault = this.#fault;
    if (!fault || !('body' in fault) || fault.body !== kind || fault.turn !== bodies.length) return undefined;
    this.hit ??= `${kind} ${body.path}`;
    return fault;
  }
}

/** An error as the file system, the network or the client of a store makes it. */
function errorOf(how: ErrorKind, place: string): Error {
  const isBucket = place.startsWith('s3:');
  const withCode = (code: string, message: string) =>
    Object.assign(new Error(`${code}: ${message}`), { code, syscall: 'read' });
  if (how === 'EIO') return withCode('EIO', 'i/o error');
  if (how === 'ENOSPC' && isBucket) return serviceError('QuotaExceeded', 507);
  if (how === 'ENOSPC') return withCode('ENOSPC', 'no space left on device');
  if (how === 'EACCES' && isBucket) return serviceError('AccessDenied', 403);
  if (how === 'EACCES') return withCode('EACCES', 'permission denied');
  if (how === 'reset') return withCode('ECONNRESET', 'aborted');
  if (how === 'busy' && isBucket) return serviceError('SlowDown', 503);
  if (how === 'busy') return withCode('EBUSY', 'resource busy or locked');
  if (isBucket) return Object.assign(new Error('socket timed out'), { name: 'TimeoutError' });
  return withCode('ETIMEDOUT', 'connection timed out');
}

function serviceError(name: string, httpStatusCode: number): Error {
  return new S3ServiceException({ name, $fault: 'server', $metadata: { httpStatusCode }, message: name });
}

const isSilent = (how: ErrorKind | SilentKind): how is SilentKind =>
  (SILENT as readonly string[]).includes(how);

/** After so many files, a list takes another call, as that of a bucket does. */
const LISTED_AT_ONCE = 5;

function flaky(place: RawTarget, plan: FaultPlan): RawTarget {
  const call = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
    const fault = plan.call(place.name, what);
    if (fault && !fault.isLate) throw fault.error;
    const result = await work();
    if (fault) throw fault.error;
    return result;
  };
  // Without its own ways to hash, fetch and list, everything is read as streams and lists, which are counted here.
  const { digestOf: _digestOf, fetch: _fetch, entries: _entries, ...rest } = place;
  return {
    ...rest,
    put: (path, payload, options) =>
      call(`put ${path}`, async () => {
        const fault = plan.body('write', {
          path,
          bytes: 'bytes' in payload ? payload.bytes.length : payload.size,
        });
        if (!fault) return place.put(path, payload, options);
        const { how, byte } = fault;
        if (isSilent(how)) {
          const bytes = altered(await bytesOf(payload), how, byte);
          return place.put(path, { bytes }, options);
        }
        // The place ends what it began, and the error is its own.
        const error = errorOf(how, place.name);
        await place.put(path, await failing(payload, byte, error), options).catch(() => undefined);
        throw error;
      }),
    flush: () => call('flush', () => place.flush()),
    read: (path, signal, range) =>
      call(`read ${path}`, async () => {
        const stream = await place.read(path, signal, range);
        return stream && flakyStream(stream, path, plan, place.name);
      }),
    async *list(folder, signal) {
      await call(`list ${folder}`, async () => {});
      let listed = 0;
      for await (const file of place.list(folder, signal)) {
        yield file;
        listed += 1;
        if (listed % LISTED_AT_ONCE === 0) await call(`list ${folder}, after ${listed}`, async () => {});
      }
    },
    remove: (paths) => call(`remove ${paths.join(' ')}`, () => place.remove(paths)),
    purge: (paths) => call(`purge ${paths.join(' ')}`, () => place.purge(paths)),
    forgetVersions: (paths) => call('forgetVersions', () => place.forgetVersions(paths)),
  };
}

/** A body is known as a whole before it is given out: its size says where its end is. Tests have small ones. */
async function flakyStream(
  stream: Readable,
  path: string,
  plan: FaultPlan,
  place: string,
): Promise<Readable> {
  const bytes = await buffer(stream);
  const fault = plan.body('read', { path, bytes: bytes.length });
  if (!fault) return Readable.from(chunksOf(bytes), { objectMode: false });
  const { how, byte } = fault;
  if (isSilent(how)) return Readable.from(chunksOf(altered(bytes, how, byte)), { objectMode: false });
  return Readable.from(brokenAt(bytes, byte, errorOf(how, place)), { objectMode: false });
}

const CHUNK = 65_536;

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK) yield bytes.subarray(start, start + CHUNK);
}

function* brokenAt(bytes: Buffer, byte: number, error: Error): Generator<Buffer> {
  yield* chunksOf(bytes.subarray(0, byte));
  throw error;
}

function altered(bytes: Buffer, how: SilentKind, byte: number): Buffer {
  const at = Math.min(byte, Math.max(0, bytes.length - 1));
  if (how === 'truncated') return Buffer.from(bytes.subarray(0, at));
  if (how === 'longer') return Buffer.concat([bytes, Buffer.from('more')]);
  const other = Buffer.from(bytes);
  if (bytes.length > 0) other[at] = (other[at] ?? 0) ^ 1;
  return other;
}

async function bytesOf(payload: Payload): Promise<Buffer> {
  if ('bytes' in payload) return payload.bytes;
  const { readWhole } = await import('../../../server/copies/targets/target.ts');
  return readWhole(payload);
}

async function failing(payload: Payload, byte: number, error: Error): Promise<Payload> {
  const bytes = await bytesOf(payload);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  async function* read() {
    yield* brokenAt(bytes, byte, error);
  }
  return { read, size: bytes.length, sha256 };
}
