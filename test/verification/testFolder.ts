import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Finding } from '../../server/verification/report.ts';
import { type VerifyInput, verifyPaths } from '../../server/verification/verifyPaths.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

/** Gives each test of a file a folder of its own, and returns what writes files in it and verifies them. */
export function testFolder() {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(closeTestNodes);
  const at = (path: string) => join(folder, path);
  const write = async (files: Record<string, string | Uint8Array>) => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(at(path)), { recursive: true });
      await writeFile(at(path), content);
    }
  };
  /** Returns the state of each path below the folder. */
  const verdicts = async (paths: string[], input: Partial<VerifyInput> = {}) => {
    const said: Record<string, string> = {};
    for await (const batch of verifyPaths({ paths: paths.map(at), ...input }))
      for (const { path, state } of batch) said[path.replace(`${folder}/`, '')] = state;
    return said;
  };
  const findings = async (path: string, input: Partial<VerifyInput> = {}) => {
    const found: Finding[] = [];
    for await (const batch of verifyPaths({ paths: [at(path)], ...input })) found.push(...batch);
    return found;
  };
  return { at, write, verdicts, findings };
}

/** The lines of a list with the digests of these contents. */
export function lines(files: Record<string, string>): string[] {
  return Object.entries(files).map(([path, content]) => `${sha256Of(content)}  ${path}\n`);
}
