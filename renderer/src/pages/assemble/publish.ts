import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/pack.ts';
import type { ProblemDocument } from '../../../../shared/problems.ts';
import { ApiProblem, addressOf, NodeUnreachable } from '../../api/client.ts';
import type { DraftFile } from './files/draftFiles.ts';

export interface PublishRun {
  signal: AbortSignal;
  tell: (done: number, total: number | null) => void;
}

/**
 * Uploads a pack: the record, then a part per file with its whole path as name. By XMLHttpRequest, which alone tells
 * how much has been sent.
 *
 * @throws ApiProblem, NodeUnreachable, or an AbortError when it is cancelled.
 */
export function uploadPack(
  record: PackRecord,
  files: readonly DraftFile[],
  { signal, tell }: PublishRun,
): Promise<Pack> {
  const form = new FormData();
  form.append('record', JSON.stringify(packRecordSchema.parse(record)));
  for (const { path, file, mediaType } of files) {
    if (file) form.append('files', file.slice(0, file.size, mediaType), path);
  }
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', addressOf('addPack'));
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total, lengthComputable }) =>
      tell(loaded, lengthComputable ? total : null);
    request.onload = () => {
      const body: unknown = request.response;
      if (request.status < 300) return resolve(body as Pack);
      if (isProblem(body)) return reject(new ApiProblem(body));
      reject(new Error(`The node answered ${request.status}. Try again.`));
    };
    request.onerror = () => reject(new NodeUnreachable(new Error('The upload was cut off.')));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(form);
  });
}

function isProblem(body: unknown): body is ProblemDocument {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}
