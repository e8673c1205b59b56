import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { requireMatchingFiles } from '../../server/archive/packs/addPack.ts';
import { stagePackFile } from '../../server/archive/packs/file/readPackFile.ts';
import { BlobStore } from '../../server/store/blobs/blobStore.ts';
import { Problem, type ProblemCode } from '../../shared/problems.ts';
import { temporaryFolder } from './node.ts';

/** An invalid ZIP: the reason, the expected code, and its bytes. */
export type Refused = [why: string, code: ProblemCode, zip: Buffer | (() => Buffer)];

/** A blob store into which pack files are staged. */
export interface Pool {
  /** Returns the code with which a pack file is refused; undefined if it is accepted. */
  refusalOf(zip: Buffer): Promise<ProblemCode | undefined>;
  /** Lists the files in `tmp/` and `blobs/`. */
  leftOver(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openPool(): Promise<Pool> {
  const folder = await temporaryFolder();
  const blobs = new BlobStore(folder);
  await blobs.recover(() => false, { mayDelete: true, hasSpace: () => true });
  return {
    refusalOf: async (zip) => {
      try {
        const { checked, staged } = await stagePackFile(blobs, chunksOf(zip));
        for (const blob of staged.values()) await blob.discard();
        // `addPack` does this next.
        requireMatchingFiles(checked, staged);
        return undefined;
      } catch (error) {
        if (error instanceof Problem) return error.code;
        throw error;
      }
    },
    leftOver: async () => [
      ...(await readdir(join(folder, 'tmp'))),
      ...(await readdir(join(folder, 'blobs'))),
    ],
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

async function* chunksOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
