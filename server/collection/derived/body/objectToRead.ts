import { contentEncodingOf } from '../../../../shared/collection/contentEncoding.ts';
import { packFileOf } from '../../../store/sqlite/collection/documentSearch.ts';
import { firstHeadersOfObject } from '../../../store/sqlite/collection/retrievals.ts';
import type { Store } from '../../../store/store.ts';
import type { ObjectToRead } from '../process/tasks.ts';

/** Returns what the derive process needs to read an object: the file of its bytes and the headers it arrived with. */
export function objectToRead({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ObjectToRead {
  const retrieved = firstHeadersOfObject(read, sha256);
  if (!retrieved) return packFileToRead({ read, blobs }, sha256);
  const { content_type, headers, source_key } = retrieved;
  return {
    sha256,
    file: blobs.fileOf(sha256),
    contentType: content_type,
    contentEncoding: contentEncodingOf(headers),
    source: source_key,
  };
}

/** A slow file is attributed to its pack, whose number must not be that of a source. */
function packFileToRead({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ObjectToRead {
  const file = packFileOf(read, sha256);
  return {
    sha256,
    file: blobs.fileOf(sha256),
    contentType: file?.media_type ?? null,
    contentEncoding: null,
    ...(file && { source: -file.pack }),
  };
}
