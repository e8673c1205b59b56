import { Readable } from 'node:stream';
import {
  CopyError,
  type CopyTarget,
  DamagedSourceError,
  digestOfStream,
  OwnDiskError,
  type RawTarget,
  type TargetEntry,
  writeVerified,
} from './target.ts';

/**
 * Makes a target of a kind of place: gives it the errors that `CopyTarget` promises, also in the middle of a stream or of a
 * list. This is the only place where an error of a folder or of a bucket becomes one of a copy.
 */
export function contractOf(raw: RawTarget): CopyTarget {
  const explain = (error: unknown, signal?: AbortSignal): unknown => {
    if (signal?.aborted) return signal.reason;
    const hasType =
      error instanceof CopyError || error instanceof DamagedSourceError || error instanceof OwnDiskError;
    if (hasType) return error;
    const message = error instanceof Error ? error.message : String(error);
    const sentence =
      raw.sentenceOf(error) ??
      `${raw.name} cannot be read or written (${message.replace(/\.$/, '')}). Try again.`;
    return new CopyError(sentence, { cause: error });
  };
  const explained = async <Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw explain(error, signal);
    }
  };
  const read: CopyTarget['read'] = async (path, signal, range) => {
    const stream = await explained(() => raw.read(path, signal, range), signal);
    return stream && explainedStream(stream, (error) => explain(error, signal));
  };
  return {
    name: raw.name,
    isFolder: raw.isFolder,
    concurrency: raw.concurrency,
    put: (path, payload, options) => explained(() => raw.put(path, payload, options), options.signal),
    flush: () => explained(() => raw.flush()),
    read,
    digestOf: (path, signal, onBytes) =>
      explained(async () => {
        if (raw.digestOf) return raw.digestOf(path, signal, onBytes);
        const stream = await read(path, signal);
        return stream && digestOfStream(stream, onBytes);
      }, signal),
    fetch: (path, into, signal) =>
      explained(async () => {
        if (raw.fetch) return raw.fetch(path, into, signal);
        const stream = await read(path, signal);
        return stream !== undefined && writeVerified(stream, into);
      }, signal),
    async *list(folder, signal) {
      try {
        yield* raw.list(folder, signal);
      } catch (error) {
        throw explain(error, signal);
      }
    },
    async *entries(signal) {
      try {
        yield* raw.entries?.(signal) ?? filesOf(raw, signal);
      } catch (error) {
        throw explain(error, signal);
      }
    },
    remove: (paths) => explained(() => raw.remove(paths)),
    purge: (paths) => explained(() => raw.purge(paths)),
    forgetVersions: (paths) => explained(() => raw.forgetVersions(paths)),
    close: () => raw.close(),
  };
}

/** Yields the objects of a bucket. Consoles of object stores show a folder that is an object of no bytes. */
async function* filesOf(raw: RawTarget, signal?: AbortSignal): AsyncGenerator<TargetEntry> {
  for await (const { path, bytes } of raw.list('', signal)) {
    const isFolder = bytes === 0 && (path === '' || path.endsWith('/'));
    if (path !== '' || !isFolder) yield { path, is: isFolder ? 'folder' : 'file' };
  }
}

/** Passes a stream on with other errors. One that is closed before its end has failed. */
function explainedStream(source: Readable, explain: (error: unknown) => unknown): Readable {
  let hasEnded = false;
  const fail = (error: unknown) => {
    if (!hasEnded) stream.destroy(asError(explain(error)));
  };
  const stream = new Readable({
    read: () => void source.resume(),
    destroy: (error, callback) => {
      source.destroy();
      callback(error);
    },
  });
  source.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) source.pause();
  });
  source.on('end', () => {
    hasEnded = true;
    stream.push(null);
  });
  source.on('error', fail);
  source.on('close', () => fail(new Error('The file ended early.')));
  // A disk may fail before somebody reads, who gets the error then. Without a listener, it would end the process.
  stream.on('error', () => {});
  source.pause();
  return stream;
}

/** The reason of a signal can be anything. */
function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
