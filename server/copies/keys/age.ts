import { runInThread } from '../../runtime/runInThread.ts';
import type { AgeFile, AgeResult, AgeTask } from './ageFiles.ts';

/** Runs age (C2SP) in a thread. @throws Error with the message of the library */
export function runAge<Result>(task: AgeTask, signal?: AbortSignal): Promise<Result> {
  return runInThread<Result>('runAge', task, { signal });
}

/** Encrypts files to a recipient, or decrypts them with an identity, each into another file. */
export function runAgeFiles(
  files: readonly AgeFile[],
  key: { recipient: string } | { identity: string },
  signal?: AbortSignal,
): Promise<AgeResult[]> {
  return runAge<AgeResult[]>({ files, ...key }, signal);
}
