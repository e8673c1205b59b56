import type { BlobStore } from '../../../store/blobs/blobStore.ts';
import type { DeriveTask, ObjectToRead } from './tasks.ts';

/**
 * Returns a task whose objects are all on this disk until they are released: those that have left it are fetched from a
 * copy. A capture that cannot be had is left out of its page.
 *
 * @throws Problem `copy_unreachable`, `blob_damaged`
 */
export async function borrowObjects<Task extends DeriveTask>(
  { away }: Pick<BlobStore, 'away'>,
  task: Task,
): Promise<{ task: Task; release: () => void }> {
  const releases: (() => void)[] = [];
  const release = () => {
    for (const each of releases) each();
  };
  const borrow = async (object: ObjectToRead): Promise<ObjectToRead> => {
    if (away.bytesOf(object.sha256) === undefined) return object;
    const borrowed = await away.borrow(object.sha256);
    releases.push(borrowed.release);
    return { ...object, file: borrowed.file };
  };
  try {
    return { task: (await withObjects(task, borrow)) as Task, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function withObjects(
  task: DeriveTask,
  borrow: (object: ObjectToRead) => Promise<ObjectToRead>,
): Promise<DeriveTask> {
  if (task.task === 'text' || task.task === 'links') return { ...task, object: await borrow(task.object) };
  if (task.task !== 'page') return { ...task, from: await borrow(task.from), to: await borrow(task.to) };
  const captures: (typeof task.captures)[number][] = [];
  for (const [address, capture] of task.captures)
    captures.push([address, capture && { ...capture, object: await borrow(capture.object) }]);
  return { ...task, object: await borrow(task.object), captures };
}
