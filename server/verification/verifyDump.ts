import { open } from 'node:fs/promises';
import { DumpError } from '../dump/dumpFile.ts';
import { type Finding, finding } from './report.ts';

const HEAD_BYTES = 65_536;

/** Returns whether a file with this beginning is a dump. */
export function isDump(head: string): boolean {
  return /^\s*\{\s*"kind"\s*:\s*"header"/.test(head);
}

/** Reads the beginning of a file as text. */
export async function headOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Verifies a dump line by line, with the same checks as an import. */
export async function verifyDump(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): Promise<Finding> {
  // Reading dumps takes many modules, which would slow down the start of every verification.
  const [{ checkDump }, { countOf }] = await Promise.all([
    import('../dump/checkDump.ts'),
    import('../../shared/values/counts.ts'),
  ]);
  try {
    const checked = checkDump(withProgress(chunks, onProgress));
    let step = await checked.next();
    while (!step.done) step = await checked.next();
    const { sha256, sealed } = step.value;
    return finding(path, 'intact', {
      sha256,
      expected: sha256,
      against: 'its trailer and its ledger',
      ...(sealed > 0 && {
        detail: `${countOf(sealed, 'finding is', 'findings are')} sealed: only commitments`,
      }),
    });
  } catch (error) {
    if (!(error instanceof DumpError)) throw error;
    const { message, line } = error;
    return { ...finding(path, 'changed', { detail: message }), ...(line !== undefined && { line }) };
  }
}

async function* withProgress(
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    onProgress(chunk.length);
  }
}
