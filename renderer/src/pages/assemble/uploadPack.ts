import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/archive/pack.ts';
import { sendRequest, urlOf } from '../../api/client.ts';
import { upload } from '../../api/sendStream.ts';
import type { DraftFile } from './files/draftFile.ts';

export interface UploadOptions {
  signal: AbortSignal;
  onProgress: (done: number, total: number | null) => void;
}

/**
 * Uploads a pack: the record, then one part per file, with its path as the file name. Files that the archive already has
 * are fetched first, because an upload contains all files of its record.
 * @throws ApiProblem, NodeUnreachable, or an AbortError when it is cancelled.
 */
export async function uploadPack(
  record: PackRecord,
  files: readonly DraftFile[],
  { signal, onProgress }: UploadOptions,
): Promise<Pack> {
  const form = new FormData();
  form.append('record', JSON.stringify(packRecordSchema.parse(record)));
  for (const file of files) {
    const content = file.file ?? (await fetchStored(file, signal));
    form.append('files', content.slice(0, content.size, file.mediaType), file.path);
  }
  return upload('addPack', { body: form, signal, onProgress });
}

async function fetchStored({ path, sha256 = '' }: DraftFile, signal: AbortSignal): Promise<Blob> {
  const response = await sendRequest(urlOf('readBlob', { params: { sha256 } }), { method: 'GET', signal });
  if (!response.ok) {
    throw new Error(
      `${path} of the previous version could not be read (status ${response.status}). Add the file again.`,
    );
  }
  return response.blob();
}
