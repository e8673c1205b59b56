import { mementoBetween, momentBefore, momentsAfter } from '../../store/sqlite/collection/mementos.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import { nearestMoment } from '../captures/memento/mementos.ts';
import { objectToRead } from '../derived/body/objectToRead.ts';
import type { HeldCapture } from '../derived/process/tasks.ts';
import { normalizeUrl, sourceIdOf } from '../sources/sources.ts';

/** Sort before and after every moment. */
const BEGINNING = '';
const END = '\uffff';

/**
 * Returns the archive's capture of an address that is nearest in time to an instant, or null if it holds none.
 *
 * @param address an absolute URL.
 * @param at in milliseconds.
 */
export function nearestCapture(
  store: Pick<Store, 'read' | 'blobs'>,
  address: string,
  at: number,
): HeldCapture | null {
  const { read } = store;
  const url = normalizeUrl(address);
  const id = sourceIdOf(url);
  const source = sourceById(read, id);
  if (!source || source.url !== url) return null;
  const [first] = momentsAfter(read, source.key, BEGINNING, 1);
  const last = momentBefore(read, source.key, END);
  if (first === undefined || last === undefined) return null;
  const moment = nearestMoment(store, { key: source.key, url, first, last }, at);
  const found = mementoBetween(read, source.key, moment, moment);
  return found ? { object: objectToRead(store, found.sha256), source: id, moment } : null;
}
