import type { PageCapture, PageComparison, PageRequest } from '../../../shared/collection/page.ts';
import { Problem } from '../../../shared/problems.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { OWNER, type Reader, requireAllReadable } from '../../withholding/withholding.ts';
import { type Deriver, noticeDamagedObjects, objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import type { FileDiffs } from '../diff/diffs.ts';
import { requirePage } from './readPages.ts';

const COMPARE_MS = 20_000;

/**
 * Compares two page captures, from the older to the newer.
 *
 * @throws Problem `not_found`, `withheld`, `released`, `blob_damaged`, `derivation_busy`, `shutting_down`
 */
export async function comparePages(
  { store, fileDiffs, deriver }: { store: Store; fileDiffs: FileDiffs; deriver: Pick<Deriver, 'derive'> },
  ids: readonly [string, string],
  reader: Reader,
): Promise<PageComparison> {
  const pages = ids
    .map((id) => requirePage(store, id))
    .sort((left, right) => (left.started_at < right.started_at ? -1 : 1));
  const [before, after] = pages as [PageCapture, PageCapture];
  const shown = pages.flatMap(({ document, text, picture }) => [document, text, picture]);
  requireAllReadable(store.read, shown, reader);
  const file = (sha256: string) => ({
    sha256,
    bytes: blobBytes(store.read, sha256) ?? 0,
    content_type: 'text/plain; charset=utf-8',
  });
  return {
    before: before.id,
    after: after.id,
    picture: await comparePictures(store, deriver, before.picture, after.picture),
    text: before.text === after.text ? null : await fileDiffs.compare(file(before.text), file(after.text)),
    requests: compareRequests(before.requests, after.requests),
  };
}

async function comparePictures(
  store: Store,
  deriver: Pick<Deriver, 'derive'>,
  before: string,
  after: string,
): Promise<PageComparison['picture']> {
  if (before === after) return { same: true, changed_pixels: 0, regions: [] };
  try {
    const { share, regions } = await deriver.derive(
      { task: 'pictures', from: objectToRead(store, before), to: objectToRead(store, after) },
      { timeoutMs: COMPARE_MS, priority: 'normal' },
    );
    return { same: false, changed_pixels: share, regions };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [before, after]);
    requireAllReadable(store.read, [before, after], OWNER);
    throw new Problem('blob_damaged', `The pictures cannot be compared: ${error.message}`, { cause: error });
  }
}

/** Pairs the requests of two captures by method and address, in their order. */
function compareRequests(
  before: readonly PageRequest[],
  after: readonly PageRequest[],
): PageComparison['requests'] {
  const waiting = new Map<string, PageRequest[]>();
  const keyOf = ({ method, url }: PageRequest) => `${method} ${url}`;
  for (const request of before)
    waiting.set(keyOf(request), [...(waiting.get(keyOf(request)) ?? []), request]);
  const added: PageRequest[] = [];
  const changed: PageComparison['requests']['changed'] = [];
  for (const request of after) {
    const earlier = waiting.get(keyOf(request))?.shift();
    if (!earlier) added.push(request);
    else if (
      earlier.sha256 !== request.sha256 ||
      earlier.status !== request.status ||
      earlier.reason !== request.reason
    )
      changed.push({ before: earlier, after: request });
  }
  return { added, removed: [...waiting.values()].flat(), changed };
}
