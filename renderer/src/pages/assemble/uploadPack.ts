import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/archive/pack.ts';
import { upload } from '../../api/sendStream.ts';
import type { DraftFile } from './files/draftFile.ts';

export interface UploadOptions {
  signal: AbortSignal;
  onProgress: (done: number, total: number | null) => void;
}

/**
 * Uploads a pack: the record, then one part per file, with its path as the file name.
 * @throws ApiProblem, NodeUnreachable, or an AbortError when it is cancelled.
 */
export function uploadPack(
  record: PackRecord,
  files: readonly DraftFile[],
  { signal, onProgress }: UploadOptions,
): Promise<Pack> {
  const form = new FormData();
  form.append('record', JSON.stringify(packRecordSchema.parse(record)));
  for (const { path, file, mediaType } of files) {
    if (file) form.append('files', file.slice(0, file.size, mediaType), path);
  }
  return upload('addPack', { body: form, signal, onProgress });
}
