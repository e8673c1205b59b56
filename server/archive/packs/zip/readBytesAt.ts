import type { FileHandle } from 'node:fs/promises';
import { Problem, type ProblemCode } from '../../../../shared/problems.ts';

/** Refuses a pack file. @throws Problem always */
export function refuse(code: ProblemCode, detail: string, members?: Record<string, unknown>): never {
  throw new Problem(code, detail, members === undefined ? {} : { members });
}

/** Reads exactly these bytes of a ZIP. @throws Problem `invalid_pack_file` if the file is shorter. */
export async function readBytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) refuse('invalid_pack_file', 'The ZIP is truncated.');
    filled += bytesRead;
  }
  return buffer;
}
