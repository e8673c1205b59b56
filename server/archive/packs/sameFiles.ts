import { FileFaults } from './fileFaults.ts';
import type { CheckedRecord } from './record.ts';

/** @throws Problem `files_mismatch`, `digest_mismatch` with a pointer to each file that is not what the record says. */
export function requireMatchingFiles(
  checked: CheckedRecord,
  staged: ReadonlyMap<string, { sha256: string; bytes: number }>,
): void {
  const faults = new FileFaults();
  const named = new Set(checked.record.files.map(({ path }) => path));
  for (const file of checked.record.files) {
    const blob = staged.get(file.path);
    if (!blob) {
      faults.add('files_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'path'),
        message: `${file.path}: the record names this file, and it was not sent.`,
      });
    } else if (blob.sha256 !== file.sha256) {
      faults.add('digest_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'sha256'),
        message: `${file.path}: the bytes hash to ${blob.sha256}, the record says ${file.sha256}.`,
      });
    } else if (blob.bytes !== file.bytes) {
      faults.add('files_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'bytes'),
        message: `${file.path}: ${blob.bytes} bytes came, the record says ${file.bytes}.`,
      });
    }
  }
  for (const path of staged.keys()) {
    if (named.has(path)) continue;
    faults.add('files_mismatch', path, {
      path: '/files',
      message: `${path}: this file was sent, and the record does not name it.`,
    });
  }
  faults.throwIfAny();
}
