import type { Comparison } from '../../../../shared/collection/diff.ts';
import { Problem } from '../../../../shared/problems.ts';
import { objectToRead } from '../../../collection/derived/body/objectToRead.ts';
import { decompressContent } from '../../../collection/derived/content.ts';
import type { Deriver } from '../../../collection/derived/process/deriver.ts';
import { deriveComparison } from '../../../collection/diff/deriveComparison.ts';
import type { ComparableEvent } from '../../../store/sqlite/collection/timeline/eventNoise.ts';
import type { Store } from '../../../store/store.ts';

/** Compares the two versions of an event; undefined if they cannot be compared. */
export type CompareVersions = (event: ComparableEvent) => Promise<Comparison | undefined>;

const NOT_COMPARED: ReadonlySet<string> = new Set(['blob_damaged', 'not_derivable']);

/**
 * Returns what compares versions for pages, in the document processes and after what readers of the node wait for. Noise
 * rules are not applied: they may change at any time, and a page shows what depends on the two objects only.
 */
export function versionComparer(store: Store, deriver: Deriver): CompareVersions {
  return async ({ previous_sha256, sha256 }) => {
    const from = objectToRead(store, previous_sha256);
    const to = objectToRead(store, sha256);
    try {
      const { content } = await deriveComparison(store, deriver, { from, to, rules: [] }, 'low');
      return decompressContent<Comparison>(content);
    } catch (error) {
      if (error instanceof Problem && NOT_COMPARED.has(error.code)) return undefined;
      throw error;
    }
  };
}
