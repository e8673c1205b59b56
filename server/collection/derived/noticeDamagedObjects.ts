import { confirmDamage, type DamageContext } from '../../fixity/confirmDamage.ts';
import { isPermanent, type NotDerivableError } from './notDerivable.ts';

/** Records damage if the derivation failed because the objects' stored bytes are damaged or missing. */
export async function noticeDamagedObjects(
  store: DamageContext,
  { reason }: NotDerivableError,
  digests: readonly string[],
): Promise<void> {
  if (!isPermanent(reason)) await confirmDamage(store, digests);
}
