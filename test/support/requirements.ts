import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The `skip` of a test's context. */
type Skip = (isSkipped: boolean, why: string) => void;

/**
 * Skips a test if this machine cannot run it.
 * @param sentence says what to install or do
 * @throws Error with the sentence where `CI` is set
 */
export function requireThat(isMet: boolean, sentence: string, skip: Skip): void {
  if (!isMet && process.env.CI) throw new Error(sentence);
  skip(!isMet, sentence);
}

/** Like `requireThat` on Linux. On other systems, which cannot have it, the test is skipped also where `CI` is set. */
export function requireOnLinux(isMet: boolean, sentence: string, skip: Skip): void {
  if (process.platform === 'linux') requireThat(isMet, sentence, skip);
  else skip(!isMet, sentence);
}

/**
 * Skips a test if this machine has no network. It does so also where `CI` is set, because a machine cannot get a network
 * for a test.
 */
export function requireNetwork(address: unknown, skip: Skip): void {
  skip(address === undefined, 'Connect this machine to a network to run this test.');
}

/** Skips a test, or fails it where `CI` is set, if one of these programs is not installed. */
export async function requirePrograms(programs: readonly string[], skip: Skip): Promise<void> {
  for (const program of programs)
    requireThat(await isInstalled(program), `Install ${program} to run this test.`, skip);
}

/** Whether a program is on the path. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await execute(process.platform === 'win32' ? 'where' : 'which', [program]);
    return true;
  } catch {
    return false;
  }
}
