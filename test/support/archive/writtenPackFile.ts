import { expect } from 'vitest';
import { writePackFile } from '../../../server/archive/packs/file/writePackFile.ts';
import type { PackRecord } from '../../../shared/archive/pack.ts';
import type { Files } from './packs.ts';

/** Returns the bytes of a pack file. */
export async function writtenPackFile(record: PackRecord, files: Files): Promise<Buffer> {
  const output = writePackFile(record, {
    read: async function* ({ path }) {
      yield Buffer.from(files[path] ?? '');
    },
  });
  const chunks: Buffer[] = [];
  for await (const chunk of output.zip(await output.check()).read()) chunks.push(Buffer.from(chunk));
  const bytes = Buffer.concat(chunks);
  expect(bytes.length).toBe(output.bytes);
  return bytes;
}
