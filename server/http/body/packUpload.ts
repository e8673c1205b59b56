import type { Request } from 'express';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../../shared/limits.ts';
import { parseJsonBytes } from '../../../shared/values/checkBody.ts';
import type { NewPack } from '../../archive/packs/addPack.ts';
import { packFileTooLarge, stagePackFile } from '../../archive/packs/file/stagePackFile.ts';
import { recordTooLarge } from '../../archive/packs/record.ts';
import type { Store } from '../../store/store.ts';
import { readMultipartPack } from './multipartPack.ts';
import { readBytes, requireMediaType, requireUtf8 } from './readJson.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** Reads one kind of upload. Its files are staged, and discarded if it fails. */
type PackReader = (request: Request, store: Pick<Store, 'blobs'>) => Promise<NewPack>;

const READERS: Record<string, PackReader> = {
  'application/json': readJsonPack,
  'multipart/form-data': readMultipartPack,
  'application/zip': readZippedPack,
};

/**
 * Reads an upload of a pack of any kind. The caller passes the result to `addPack`, which discards the files that it
 * does not keep.
 *
 * @throws Problem `unsupported_media_type`, and the problems of each kind.
 */
export function readPackUpload(request: Request, store: Pick<Store, 'blobs'>): Promise<NewPack> {
  const mediaType = requireMediaType(request, Object.keys(READERS));
  return (READERS[mediaType] as PackReader)(request, store);
}

/** Reads a record whose files are already in the archive. */
async function readJsonPack(request: Request): Promise<NewPack> {
  requireUtf8(request);
  const body = checkedBodyChunks(request, MAX_RECORD_BYTES, recordTooLarge);
  return { record: parseJsonBytes(await readBytes(body, MAX_RECORD_BYTES)) };
}

/** Reads a pack file: a bag in a ZIP, or a plain ZIP. */
function readZippedPack(request: Request, { blobs }: Pick<Store, 'blobs'>): Promise<NewPack> {
  return stagePackFile(blobs, checkedBodyChunks(request, MAX_PACK_BYTES, packFileTooLarge));
}
