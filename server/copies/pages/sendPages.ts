import { type CopyRow, isCopied } from '../../store/sqlite/node/copies.ts';
import type { CopyServices } from '../requireOwn.ts';
import type { CopyTarget } from '../targets/target.ts';
import { makePages } from './makePages.ts';
import type { Page, PageContext } from './pageContext.ts';
import { PAGE_FILES, PAGE_FOLDERS, PAGES_VERSION } from './pagePaths.ts';

/** After this many pages, those sent are brought to stable storage, so that memory stays bounded. */
const SETTLE_EVERY = 10_000;

/** What the pages are about: the size of the ledger and its signed checkpoint. */
export interface PagesRun {
  size: number;
  note: string;
  signal: AbortSignal;
}

/** Returns whether a copy has pages that do not show the ledger of this size, or pages that the owner no longer wants. */
export function pagesAreBehind(copy: CopyRow, size: number): boolean {
  return copy.pages === 1
    ? copy.pages_size < size || copy.pages_version !== PAGES_VERSION
    : copy.pages_size > 0;
}

/**
 * Sends the pages that changed since the last sync. They are made from the state of the ledger at `size`, whose objects
 * and records the copy holds already; what was recorded since is not shown. If this is interrupted, the next sync sends
 * the same pages again.
 *
 * If the owner no longer wants pages, they are removed.
 *
 * @returns the number of pages sent
 * @throws CopyError; the signal's reason
 */
export async function sendPages(
  services: CopyServices,
  copy: CopyRow,
  target: CopyTarget,
  run: PagesRun,
): Promise<number> {
  if (copy.pages === 0) {
    if (copy.pages_size > 0) await removePages(target, run.signal);
    return 0;
  }
  const from = copy.pages_version === PAGES_VERSION ? copy.pages_size : 0;
  const inFlight = new Set<Promise<void>>();
  let sent = 0;
  let failure: { error: unknown } | undefined;
  const send = (page: Page) => {
    const put = target
      .put(page.path, { bytes: page.bytes }, { type: page.type, signal: run.signal })
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => inFlight.delete(put));
    inFlight.add(put);
  };
  for await (const page of makePages(pageContext(services, copy, run), from)) {
    run.signal.throwIfAborted();
    send(page);
    sent += 1;
    if (inFlight.size >= target.concurrency) await Promise.race(inFlight);
    if (failure) break;
    if (sent % SETTLE_EVERY !== 0) continue;
    await Promise.all(inFlight);
    await target.settle();
  }
  await Promise.all(inFlight);
  if (failure) throw failure.error;
  return sent;
}

/** Describes what the pages of a copy are made from. */
export function pageContext(
  { store, checkpoints, compare }: CopyServices,
  { id, public_url }: CopyRow,
  { size, note }: Pick<PagesRun, 'size' | 'note'>,
): PageContext {
  return {
    database: store.read,
    node: checkpoints.key.name,
    key: checkpoints.key.verifierKey,
    note,
    size,
    publicUrl: public_url === null ? null : public_url.replace(/\/*$/, '/'),
    compare,
    holds: (sha256) => isCopied(store.read, id, sha256),
  };
}

/** Removes the pages from a copy. Everything else stays. */
async function removePages(target: CopyTarget, signal: AbortSignal): Promise<void> {
  for (const folder of PAGE_FOLDERS)
    for await (const { path } of target.list(folder, signal)) await target.remove(path);
  for (const path of PAGE_FILES) await target.remove(path);
}
