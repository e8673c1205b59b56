import type { DamageContext } from '../../../fixity/confirmDamage.ts';
import { packFileOf } from './packFileOf.ts';
import { PackFileSummaries, type PackFileSummary } from './packFileSummaries.ts';
import type { PackFileOutput, PackZip } from './writePackFile.ts';

/** The layouts that are cached have at most this many files together, at about 1 KB each. */
const MAX_FILES = 10_000;

/**
 * The pack files that are being sent. Their layouts and summaries are cached, so that ranges of a large pack are sent
 * without writing its tag files again. They are never outdated, because the record determines them.
 */
export class PackFiles {
  readonly #store: DamageContext;
  readonly #summaries = new PackFileSummaries();
  /** By fingerprint, the least recently used first. */
  readonly #outputs = new Map<string, PackFileOutput>();
  readonly #zips = new WeakMap<PackFileOutput, PackZip>();

  constructor(store: DamageContext) {
    this.#store = store;
  }

  /** Returns the pack file of a pack with this fingerprint. @throws Problem `not_found`, `blob_damaged` */
  of(id: string, digest: string): PackFileOutput {
    const output = this.#outputs.get(digest) ?? packFileOf(this.#store, id);
    this.#outputs.delete(digest);
    this.#outputs.set(digest, output);
    let files = this.#outputs.values().reduce((sum, each) => sum + each.files, 0);
    for (const [oldest, each] of this.#outputs) {
      if (files <= MAX_FILES) break;
      this.#outputs.delete(oldest);
      files -= each.files;
    }
    return output;
  }

  /** Returns what must be known of a pack file before a part of it is sent. @throws Problem `blob_damaged` */
  summaryOf(output: PackFileOutput): Promise<PackFileSummary> {
    return this.#summaries.of(output);
  }

  /** Returns a pack file with its layout. Its files are not checked. */
  zipOf(output: PackFileOutput, { crcs }: PackFileSummary): PackZip {
    let zip = this.#zips.get(output);
    if (!zip) this.#zips.set(output, (zip = output.zip(crcs)));
    return zip;
  }
}
