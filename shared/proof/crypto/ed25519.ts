import { Point } from '@noble/ed25519';

/** What is remembered: the keys of a few nodes and witnesses are asked for again and again. */
const MAX_REMEMBERED = 1_000;
const remembered = new Map<string, boolean>();

/**
 * Whether these are the 32 bytes of a public key of prime order, in the one encoding that RFC 8032 allows (section 5.1.3).
 * Some libraries accept keys of small order, with which anybody can sign. Others disagree about signatures by keys of mixed
 * order. Such keys are refused before a library verifies a signature, so every program gives the same verdict.
 */
export function isSoundKey(key: Uint8Array): boolean {
  const id = key.join();
  const known = remembered.get(id);
  if (known !== undefined) return known;
  const isSound = isInPrimeSubgroup(key) && !Point.fromBytes(key).is0();
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(id, isSound);
  return isSound;
}

/** Whether 32 bytes encode a point of the subgroup of prime order, which the identity is in too. */
export function isInPrimeSubgroup(encoded: Uint8Array): boolean {
  try {
    return Point.fromBytes(encoded).isTorsionFree();
  } catch {
    // Thrown for bytes that do not encode a point.
    return false;
  }
}
