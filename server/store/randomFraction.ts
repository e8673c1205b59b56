import type { Store } from './store.ts';

/** Returns a random number from 0 to 1, both inclusive. */
export function randomFraction({ randomHex }: Pick<Store, 'randomHex'>): number {
  return Number.parseInt(randomHex(8), 16) / 0xffffffff;
}
