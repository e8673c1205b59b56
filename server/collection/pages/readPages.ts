import type {
  ListedPage,
  PageCapture,
  PageComparison,
  PageRequest,
  PagesQuery,
} from '../../../shared/collection/page.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import { once } from '../../runtime/concurrency.ts';
import {
  type AskedAnswer,
  answerNearest,
  countPages,
  type HeldAnswer,
  listPages,
  pageById,
} from '../../store/sqlite/collection/pages.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { madeOfReadable, OWNER, type Reader, requireAllReadable } from '../../withholding/withholding.ts';
import { type Deriver, noticeDamagedObjects, objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import type { FileDiffs } from '../diff/diffs.ts';
import { normalizeUrl, sourceIdOf } from '../sources/sources.ts';

/** Returns a part of the list of page captures, newest first. */
export function listPageCaptures({ read }: Pick<Store, 'read'>, query: PagesQuery): Slice<ListedPage> {
  return onSnapshot(read, () => ({ items: listPages(read, query), total: countPages(read, query) }));
}

export function findPage({ read }: Pick<Store, 'read'>, id: string): PageCapture | undefined {
  return pageById(read, id);
}

/** Returns a page capture. @throws Problem `not_found` */
export function requirePage(store: Pick<Store, 'read'>, id: string): PageCapture {
  const page = findPage(store, id);
  if (!page) throw new Problem('not_found', 'There is no such page capture.');
  return page;
}

/** Returns an address as browsers write it: they encode these characters in paths, and this node does not. */
export function asBrowsersWrite(url: string): string {
  return url.replace(/[|^`{}]/g, (character) => encodeURIComponent(character));
}

/**
 * Returns the answer to a request that is nearest in time; undefined if the archive holds none. An address is also looked for
 * as this node writes it (see `asBrowsersWrite`).
 */
export function heldAnswers(
  read: ReadDatabase,
  { url: given, ...asked }: Omit<AskedAnswer, 'source'>,
): HeldAnswer | undefined {
  if (!isHttpUrl(given)) return undefined;
  const answerAt = (url: string) => answerNearest(read, { ...asked, url, source: sourceIdOf(url) });
  const url = normalizeUrl(given);
  const plain = url.replace(/%(7C|5E|60)/gi, decodeURIComponent);
  return answerAt(url) ?? (plain === url ? undefined : answerAt(plain));
}

const COMPARE_MS = 20_000;

/** What pages are compared with. */
interface ComparingServices {
  store: Store;
  fileDiffs: FileDiffs;
  deriver: Pick<Deriver, 'derive'>;
}

/**
 * Compares two page captures, from the older to the newer.
 *
 * @throws Problem `not_found`, `withheld`, `released`, `blob_damaged`, `derivation_busy`, `shutting_down`
 */
export async function comparePages(
  services: ComparingServices,
  ids: readonly [string, string],
  reader: Reader,
): Promise<PageComparison> {
  const { store } = services;
  const pages = ids
    .map((id) => requirePage(store, id))
    .sort((left, right) => (left.started_at < right.started_at ? -1 : 1));
  const [before, after] = pages as [PageCapture, PageCapture];
  const shown = pages.flatMap(({ document, text, picture }) => [document, text, picture]);
  return madeOfReadable(
    () => requireAllReadable(store.read, shown, reader),
    () => compareTwo(services, before, after),
  );
}

async function compareTwo(
  { store, fileDiffs, deriver }: ComparingServices,
  before: PageCapture,
  after: PageCapture,
): Promise<PageComparison> {
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

const MAKE_MS = 10_000;
/** About 20 KB each. */
const MAX_KEPT = 200;

/** Small images of pages for lists, made when they are first shown. They are derived, and in memory only. */
export class Thumbnails {
  readonly #store: Store;
  readonly #deriver: Pick<Deriver, 'derive'>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  constructor(store: Store, deriver: Pick<Deriver, 'derive'>) {
    this.#store = store;
    this.#deriver = deriver;
    store.blobs.onRemoved((sha256) => this.#kept.delete(sha256));
  }

  /** Returns the thumbnail of a picture. @throws Problem `not_derivable`, `derivation_busy`, `shutting_down` */
  of(picture: string): Promise<Uint8Array> {
    return once(this.#kept, picture, () => this.#make(picture), MAX_KEPT);
  }

  async #make(picture: string): Promise<Uint8Array> {
    try {
      const object = { ...objectToRead(this.#store, picture), contentType: 'image/png' };
      const { png } = await this.#deriver.derive(
        { task: 'thumbnail', object },
        { timeoutMs: MAKE_MS, priority: 'normal' },
      );
      return png;
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      await noticeDamagedObjects(this.#store, error, [picture]);
      throw new Problem('not_derivable', `The picture has no thumbnail. ${error.message}`, {
        members: { reason: error.reason },
        cause: error,
      });
    }
  }
}
