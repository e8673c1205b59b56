import { writeSync } from 'node:fs';

/** Writes all bytes. A single write may write only some of them, for example on a nearly full disk. */
export function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
}
