import { contentEncodingOf } from '../../../../shared/collection/retrieval.ts';
import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage, type DamageContext } from '../../../fixity/audit.ts';
import type { StartChild } from '../../../runtime/child.ts';
import { shuttingDown } from '../../../runtime/jobs.ts';
import type { Log } from '../../../runtime/log.ts';
import type { BlobStore } from '../../../store/blobs/blobStore.ts';
import { packFileOf } from '../../../store/sqlite/collection/documentSearch.ts';
import { firstHeadersOfObject } from '../../../store/sqlite/collection/retrievals.ts';
import type { Store } from '../../../store/store.ts';
import { DeriveQueue, type Priority, type QueuedTask, sourceOf } from './deriveQueue.ts';
import {
  type DeriveTask,
  isPermanent,
  NotDerivableError,
  type ObjectToRead,
  type ResultOf,
} from './tasks.ts';

type ObjectsToBorrow = Pick<BlobStore, 'offloaded' | 'isReleased'>;

export interface DeriveOptions {
  /** Time limit, counted from the start of the task. */
  timeoutMs: number;
  priority?: Priority;
}

/** A document that takes longer is moved to the slow queue. */
const QUICK_MS = 1_500;
/** Requests are refused while this many tasks are queued. */
const MAX_QUEUED = 64;
/** Sources that are remembered as slow. */
const MAX_SLOW_SOURCES = 10_000;

/**
 * Derives documents in two processes: one for quick documents, which nearly all are, and one for slow documents. After a
 * slow document, all documents of its source go to the slow queue until one is quick again. A hostile page therefore
 * delays only other slow documents.
 */
export class Deriver {
  readonly #quick: DeriveQueue;
  readonly #slow: DeriveQueue;
  readonly #slowSources = new Set<number>();
  readonly #blobs: ObjectsToBorrow | undefined;
  #isClosed = false;

  /** @param blobs fetches offloaded objects, and says which were given up */
  constructor(log: Log, startChild?: StartChild, blobs?: ObjectsToBorrow, quickMs = QUICK_MS) {
    this.#blobs = blobs;
    this.#slow = new DeriveQueue(log, {
      maxMs: Number.POSITIVE_INFINITY,
      startChild,
      onDone: ({ task }, ms) => {
        if (ms < quickMs) this.#slowSources.delete(sourceOf(task) ?? 0);
      },
    });
    this.#quick = new DeriveQueue(log, {
      maxMs: quickMs,
      startChild,
      onDone: () => {},
      onTooSlow: (task) => this.#moveToSlow(task),
    });
  }

  /**
   * Runs one task. Offloaded objects are fetched first.
   *
   * @throws NotDerivableError if nothing can be derived from the object; Problem `derivation_busy`, `shutting_down`,
   * `copy_unreachable`.
   */
  async derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    if (!this.#blobs) return this.#derive(task, options);
    const borrowed = await borrowObjects(this.#blobs, task).catch((error: unknown) => {
      throw asNotDerivable(error, options);
    });
    try {
      return await this.#derive(borrowed.task, options);
    } finally {
      borrowed.release();
    }
  }

  #derive<Task extends DeriveTask>(task: Task, options: DeriveOptions): Promise<ResultOf<Task>> {
    const { timeoutMs, priority = 'normal' } = options;
    if (this.#isClosed) return Promise.reject(shuttingDown());
    const queue = this.#slowSources.has(sourceOf(task) ?? 0) ? this.#slow : this.#quick;
    if (priority === 'normal' && queue.length >= MAX_QUEUED) return Promise.reject(busy());
    return new Promise<ResultOf<Task>>((resolve, reject) =>
      queue.push({ task, timeoutMs, priority, resolve, reject }),
    );
  }

  #moveToSlow(queued: QueuedTask): void {
    if (this.#isClosed) return queued.reject(shuttingDown());
    const source = sourceOf(queued.task);
    if (source !== undefined) this.#slowSources.add(source);
    for (const oldest of this.#slowSources) {
      if (this.#slowSources.size <= MAX_SLOW_SOURCES) break;
      this.#slowSources.delete(oldest);
    }
    if (queued.priority === 'normal' && this.#slow.length >= MAX_QUEUED) queued.reject(busy());
    else this.#slow.push(queued);
  }

  /** Ends the processes and rejects unfinished tasks with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = await Promise.all([this.#quick.close(), this.#slow.close()]);
    for (const { reject } of left.flat()) reject(shuttingDown());
  }
}

/** In the background, an object that cannot be fetched now is one that is missing now: later tasks do not wait for it. */
function asNotDerivable(error: unknown, { priority }: DeriveOptions): unknown {
  if (!(error instanceof Problem)) return error;
  if (error.code === 'blob_damaged') return new NotDerivableError('object_damaged', error.message, error);
  return priority === 'low' ? new NotDerivableError('object_missing', error.message, error) : error;
}

function busy(): Problem {
  return new Problem('derivation_busy', 'Too many documents are being processed; try again in a minute.', {
    headers: { 'Retry-After': '60' },
  });
}

/**
 * Returns a task whose objects are all on this disk until they are released: those that have left it are fetched from a
 * copy. A capture that was given up is left out of its page.
 *
 * @throws NotDerivableError `released`; Problem `copy_unreachable`, `blob_damaged`
 */
async function borrowObjects<Task extends DeriveTask>(
  blobs: ObjectsToBorrow,
  task: Task,
): Promise<{ task: Task; release: () => void }> {
  const releases: (() => void)[] = [];
  const release = () => {
    for (const each of releases) each();
  };
  const borrow = async (object: ObjectToRead): Promise<ObjectToRead> => {
    if (blobs.isReleased(object.sha256))
      throw new NotDerivableError('released', 'The object’s bytes were given up.');
    if (blobs.offloaded.bytesOf(object.sha256) === undefined) return object;
    const borrowed = await blobs.offloaded.borrow(object.sha256);
    releases.push(borrowed.release);
    return { ...object, file: borrowed.file };
  };
  try {
    return { task: (await withObjects(withoutReleased(task, blobs), borrow)) as Task, release };
  } catch (error) {
    release();
    throw error;
  }
}

function withoutReleased(task: DeriveTask, blobs: ObjectsToBorrow): DeriveTask {
  if (task.task !== 'page') return task;
  const captures = task.captures.map(
    ([address, capture]) =>
      [address, capture && blobs.isReleased(capture.object.sha256) ? null : capture] as const,
  );
  return { ...task, captures };
}

async function withObjects(
  task: DeriveTask,
  borrow: (object: ObjectToRead) => Promise<ObjectToRead>,
): Promise<DeriveTask> {
  if ('from' in task) return { ...task, from: await borrow(task.from), to: await borrow(task.to) };
  if (!('object' in task)) return task;
  if (task.task !== 'page') return { ...task, object: await borrow(task.object) };
  const captures: (typeof task.captures)[number][] = [];
  for (const [address, capture] of task.captures)
    captures.push([address, capture && { ...capture, object: await borrow(capture.object) }]);
  return { ...task, object: await borrow(task.object), captures };
}

/** Returns what the derive process needs to read an object: the file of its bytes and the headers it arrived with. */
export function objectToRead({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ObjectToRead {
  const retrieved = firstHeadersOfObject(read, sha256);
  if (!retrieved) return packFileToRead({ read, blobs }, sha256);
  const { content_type, headers, source_key } = retrieved;
  return {
    sha256,
    file: blobs.fileOf(sha256),
    contentType: content_type,
    contentEncoding: contentEncodingOf(headers),
    source: source_key,
  };
}

/** A slow file is attributed to its pack, whose number must not be that of a source. */
function packFileToRead({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ObjectToRead {
  const file = packFileOf(read, sha256);
  return {
    sha256,
    file: blobs.fileOf(sha256),
    contentType: file?.media_type ?? null,
    contentEncoding: null,
    ...(file && { source: -file.pack }),
  };
}

/**
 * Records damage if the derivation failed because the objects' stored bytes are damaged or missing. Bytes that were given
 * up are neither.
 */
export async function noticeDamagedObjects(
  store: DamageContext,
  { reason }: NotDerivableError,
  digests: readonly string[],
): Promise<void> {
  if (!isPermanent(reason)) await confirmDamage(store, digests);
}
