import { type EventQuality, LABEL_SCORE } from '../../../shared/collection/quality.ts';
import { Problem } from '../../../shared/problems.ts';
import { isMissing, isUnreadable } from '../../store/blobs/blobStore.ts';
import { retrievalById } from '../../store/sqlite/collection/retrievals.ts';
import { recordedEvent } from '../../store/sqlite/collection/timeline/events.ts';
import type { Store } from '../../store/store.ts';
import { findingsOf, labelOf } from '../record/quality/judgePage.ts';
import { PAGE_BEGINNING_BYTES } from '../record/quality/pageHtml.ts';
import { readEvent } from './events.ts';

/**
 * Returns how the version of an event was judged, and what each rule finds in it now. It is computed from the archived
 * bytes and headers and is not stored: the event keeps the label that it was recorded with.
 *
 * @throws Problem `not_found`, `blob_damaged`, `copy_unreachable`
 */
export async function readEventQuality(
  store: Pick<Store, 'read' | 'blobs'>,
  id: string,
): Promise<EventQuality> {
  const event = readEvent(store, id);
  const retrieval = retrievalById(store.read, recordedEvent(store.read, event.id)?.retrieval ?? 0);
  const findings = retrieval
    ? await findingsOf({ ...retrieval, beginning: await beginningOf(store, retrieval.sha256) })
    : [];
  return { recorded: event.page_label, found: labelOf(findings), threshold: LABEL_SCORE, findings };
}

async function beginningOf({ blobs }: Pick<Store, 'blobs'>, sha256: string | null): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  if (sha256 === null) return Buffer.alloc(0);
  try {
    for await (const chunk of blobs.read(sha256)) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= PAGE_BEGINNING_BYTES) break;
    }
  } catch (error) {
    if (!isMissing(error) && !isUnreadable(error)) throw error;
    throw new Problem('blob_damaged', 'The stored bytes of this version cannot be read.');
  }
  return Buffer.concat(chunks).subarray(0, PAGE_BEGINNING_BYTES);
}
