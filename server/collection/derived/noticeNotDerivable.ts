import { type Noticing, noticeDamage } from '../../fixity/noticeDamage.ts';
import { isKept, type NotDerivableError } from './notDerivable.ts';

/** Has it recorded where nothing could be made of objects because their stored bytes are damaged or missing. */
export async function noticeNotDerivable(
  store: Noticing,
  { reason }: NotDerivableError,
  digests: readonly string[],
): Promise<void> {
  if (!isKept(reason)) await noticeDamage(store, digests);
}
