import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from './node.ts';
import { requirePrograms, requireThat } from './requirements.ts';

/** Go's build cache. All tests share it, because compiling the standard library takes long. Go removes old entries. */
const CACHE = join(tmpdir(), 'strongroom-go-cache');

/** Skips a test, or fails it where `CI` is set, if Go or its library of signed notes and logs is not installed. */
export async function requireGo(skip: (isSkipped: boolean, why: string) => void): Promise<void> {
  await requirePrograms(['go'], skip);
  const library = '/usr/share/gocode/src/golang.org/x/mod/sumdb/note';
  requireThat(existsSync(library), 'Install golang-golang-x-mod-dev to run this test.', skip);
}

/** A folder for a Go program, and the environment to run Go in. */
export async function goFolder(): Promise<{ cwd: string; env: NodeJS.ProcessEnv }> {
  const cwd = await temporaryFolder();
  const env = { PATH: process.env.PATH, HOME: cwd, GOFLAGS: '', GOCACHE: CACHE };
  return { cwd, env };
}

/** With the packages that Debian installs, and no modules. */
export const GO_OF_DEBIAN = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
