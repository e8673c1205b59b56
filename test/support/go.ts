import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from './extract.ts';
import { temporaryFolder } from './node.ts';

/** How long a test may take that builds a Go program. */
export const GO_TAKES_MS = 120_000;

/** Skips a test where Go, or its library of signed notes and logs, is not on this machine. */
export async function requireGo(skip: (condition: boolean, why: string) => void): Promise<void> {
  skip(!(await isInstalled('go')), 'go is not installed');
  const library = '/usr/share/gocode/src/golang.org/x/mod/sumdb/note';
  skip(!existsSync(library), 'golang-golang-x-mod-dev is not installed');
}

/** A folder for a Go program, and the environment to run Go in. */
export async function goFolder(): Promise<{ cwd: string; env: NodeJS.ProcessEnv }> {
  const cwd = await temporaryFolder();
  const env = { PATH: process.env.PATH, HOME: cwd, GOFLAGS: '', GOCACHE: join(cwd, 'cache') };
  return { cwd, env };
}

/** With the packages that Debian installs, and no modules. */
export const GO_OF_DEBIAN = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
