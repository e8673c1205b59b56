import { contentEncodingOf } from '../../../shared/collection/contentEncoding.ts';
import { mementoTimestamp } from '../../../shared/collection/memento.ts';
import type { ObjectView, PageResources, ViewQuery } from '../../../shared/collection/view.ts';
import { Problem } from '../../../shared/problems.ts';
import { mementoBetween } from '../../store/sqlite/collection/mementos.ts';
import { sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import {
  eventOfVersion,
  firstRetrieval,
  otherVersion,
  retrievalAt,
  type ViewedRetrieval,
} from '../../store/sqlite/collection/views.ts';
import type { Store } from '../../store/store.ts';
import { objectToRead } from '../derived/body/objectToRead.ts';
import { NotDerivableError } from '../derived/notDerivable.ts';
import type { MadePage } from '../derived/process/tasks.ts';
import { requireObject } from '../timeline/objects.ts';
import { fileNameOf } from './fileName.ts';
import type { PageCache } from './pageCache.ts';
import { viewKind } from './viewKind.ts';

type ReadStore = Pick<Store, 'read' | 'blobs'>;

/**
 * Returns what is needed to show an object as one retrieval brought it.
 *
 * @throws Problem `invalid_digest`, `not_found`.
 */
export async function readObjectView(
  store: ReadStore,
  sha256: string,
  query: ViewQuery,
): Promise<ObjectView> {
  const bytes = requireObject(store.read, sha256);
  const retrieval = requireRetrieval(store, sha256, query);
  // A 304 does not repeat the headers that the object arrived with.
  const { contentType, contentEncoding } = objectToRead(store, sha256);
  const { source_id, url, name, final_url, moment, observer, observed_at, original_observed_at, status } =
    retrieval;
  const encoding = contentEncodingOf(retrieval.headers) ?? contentEncoding;
  return {
    sha256,
    bytes,
    content_type: contentType,
    kind: await viewKind(store, { sha256, url: final_url, contentType, isEncoded: encoding !== null }),
    file_name: fileNameOf({ url: final_url, contentType, encoding, headers: retrieval.headers, at: moment }),
    content: encoding === null ? `/archive/${sha256}` : decodedPath(store, sha256, retrieval),
    source: { id: source_id, url, name },
    final_url,
    observer,
    observed_at,
    original_observed_at,
    at: moment,
    status,
    event: eventOfVersion(store.read, retrieval, sha256) ?? null,
    older: otherVersion(store.read, retrieval, sha256, 'older') ?? null,
    newer: otherVersion(store.read, retrieval, sha256, 'newer') ?? null,
  };
}

/**
 * Returns an archived page that can be shown.
 *
 * @throws Problem `invalid_digest`, `not_found`; `not_derivable` with the reason; `derivation_busy`.
 */
export async function readArchivedPage(
  store: ReadStore,
  pages: PageCache,
  { sha256, query }: { sha256: string; query: ViewQuery },
): Promise<MadePage> {
  requireObject(store.read, sha256);
  const { final_url, moment } = requireRetrieval(store, sha256, query);
  try {
    return await pages.make({ sha256, url: final_url, moment });
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    throw new Problem('not_derivable', `This object cannot be shown as a page. ${error.message}`, {
      members: { reason: error.reason },
    });
  }
}

/** Returns what a page consists of. @throws Problem like `readArchivedPage` */
export function pageResources(sha256: string, { title, used, missing, truncated }: MadePage): PageResources {
  return {
    sha256,
    title,
    used: used.map(({ moment, ...capture }) => ({ ...capture, at: moment })),
    missing,
    truncated,
  };
}

function requireRetrieval({ read }: ReadStore, sha256: string, { source, at }: ViewQuery): ViewedRetrieval {
  const found = source === undefined ? firstRetrieval(read, sha256) : retrievalOf(read, sha256, source, at);
  if (found) return found;
  throw new Problem(
    'not_found',
    source === undefined ? 'No retrieval of this object is recorded.' : 'This source never had this object.',
  );
}

function retrievalOf(
  read: Store['read'],
  sha256: string,
  source: string,
  at: string | undefined,
): ViewedRetrieval | undefined {
  const sourceKey = sourceKeyOf(read, source);
  if (sourceKey === undefined) return undefined;
  const found = at === undefined ? undefined : retrievalAt(read, { sourceKey, sha256, moment: at });
  return found ?? firstRetrieval(read, sha256, sourceKey);
}

/**
 * Returns the path of a memento, which is sent with its encoding. Only observations are mementos, and another observer may
 * have another object at the same moment.
 */
function decodedPath(
  { read }: ReadStore,
  sha256: string,
  { source_key, moment, url }: ViewedRetrieval,
): string {
  const isMemento = mementoBetween(read, source_key, moment, moment)?.sha256 === sha256;
  return isMemento ? `/memento/${mementoTimestamp(moment)}/${url}` : `/archive/${sha256}`;
}
