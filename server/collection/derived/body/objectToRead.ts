import { contentEncodingOf } from '../../../../shared/collection/contentEncoding.ts';
import { firstHeadersOfObject } from '../../../store/sqlite/collection/retrievals.ts';
import type { Store } from '../../../store/store.ts';
import type { ObjectToRead } from '../process/tasks.ts';

/** Returns what the derive process needs to read an object: the file of its bytes and the headers it arrived with. */
export function objectToRead({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ObjectToRead {
  const { content_type = null, headers = [], source_key } = firstHeadersOfObject(read, sha256) ?? {};
  return {
    sha256,
    file: blobs.fileOf(sha256),
    contentType: content_type,
    contentEncoding: contentEncodingOf(headers),
    ...(source_key !== undefined && { source: source_key }),
  };
}
