import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { cosignaturesOf } from '../../store/sqlite/node/witness.ts';

/** Appends to a checkpoint the lines of the witnesses that cosigned it. `root` is in hex. */
export function withCosignatures(read: ReadDatabase, note: string, size: number, root: string): string {
  const origin = note.slice(0, note.indexOf('\n'));
  return (
    note +
    cosignaturesOf(read, { origin, size, root })
      .map(({ line }) => line)
      .join('')
  );
}
