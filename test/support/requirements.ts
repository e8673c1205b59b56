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

/** Skips a test, or fails it where `CI` is set, if one of these programs is not installed. */
export async function requirePrograms(programs: readonly string[], skip: Skip): Promise<void> {
  for (const program of programs)
    requireThat(await isInstalled(program), `Install ${program} to run this test.`, skip);
}

async function isInstalled(program: string): Promise<boolean> {
  try {
    await execute(process.platform === 'win32' ? 'where' : 'which', [program]);
    return true;
  } catch {
    return false;
  }
}
