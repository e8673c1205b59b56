import { FileFaults } from './fileFaults.ts';
import type { CheckedRecord } from './record.ts';

/** @throws Problem `files_mismatch`, `digest_mismatch` with a pointer to each file that does not match the record. */
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
        message: `${file.path}: this file is in the record, but was not sent.`,
      });
    } else if (blob.sha256 !== file.sha256) {
      faults.add('digest_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'sha256'),
        message: `${file.path}: the SHA-256 of the file is ${blob.sha256}, but the record says ${file.sha256}.`,
      });
    } else if (blob.bytes !== file.bytes) {
      faults.add('files_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'bytes'),
        message: `${file.path}: the file has ${blob.bytes} bytes, but the record says ${file.bytes}.`,
      });
    }
  }
  for (const path of staged.keys()) {
    if (named.has(path)) continue;
    faults.add('files_mismatch', path, {
      path: '/files',
      message: `${path}: this file was sent, but is not in the record.`,
    });
  }
  faults.throwIfAny();
}
