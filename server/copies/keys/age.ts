import { runWorker } from '../../runtime/runWorker.ts';
import { workerUrl } from '../../runtime/workerUrl.ts';
import type { AgeFile, AgeResult } from './ageFiles.ts';
import type { AgeTask } from './ageKey.worker.ts';

/** Runs age (C2SP) in a thread. @throws Error with the message of the library */
export function runAge<Result>(task: AgeTask, signal?: AbortSignal): Promise<Result> {
  return runWorker<Result>(workerUrl('ageKey', import.meta.url), task, signal ? { signal } : {});
}

/** Encrypts files to a recipient, or decrypts them with an identity, each into another file. */
export function runAgeFiles(
  files: readonly AgeFile[],
  key: { recipient: string } | { identity: string },
  signal?: AbortSignal,
): Promise<AgeResult[]> {
  return runAge<AgeResult[]>({ files, ...key }, signal);
}
