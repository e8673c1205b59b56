import { confirmDamage, type DamageContext } from '../../fixity/confirmDamage.ts';
import { isKept, type NotDerivableError } from './notDerivable.ts';

/** Has it recorded where nothing could be made of objects because their stored bytes are damaged or missing. */
export async function noticeDamagedObjects(
  store: DamageContext,
  { reason }: NotDerivableError,
  digests: readonly string[],
): Promise<void> {
  if (!isKept(reason)) await confirmDamage(store, digests);
}
