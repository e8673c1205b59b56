import type { Store } from '../../store/store.ts';

/** A random number from 0 to 1, both included. */
export function randomFraction({ randomHex }: Pick<Store, 'randomHex'>): number {
  return Number.parseInt(randomHex(8), 16) / 0xffffffff;
}
