import { createHash } from 'node:crypto';
import type { PackFileOutput } from './writePackFile.ts';

/** What must be known of a pack file before a part of it can be sent. */
export interface PackFileSummary {
  /** The CRCs of the files in the order of the record. */
  crcs: Uint32Array;
  /** The digest of the whole pack file, in hex. */
  sha256: string;
}

/** With 5,000 files each, this many summaries take 5 MB. */
const MAX_SUMMARIES = 250;

/**
 * Remembers summaries of pack files, so that the files of a pack are not read again for each range of it. They are never
 * outdated, because the record determines all bytes of a pack file.
 */
export class PackFileSummaries {
  /** By fingerprint, the least recently used first. */
  readonly #summaries = new Map<string, Promise<PackFileSummary>>();

  /** Returns the summary of a pack file, and reads its files if it is not known. @throws Problem `blob_damaged` */
  of(output: PackFileOutput): Promise<PackFileSummary> {
    const known = this.#summaries.get(output.digest);
    this.#summaries.delete(output.digest);
    const summary = known ?? summarize(output);
    this.#summaries.set(output.digest, summary);
    summary.catch(() => {
      if (this.#summaries.get(output.digest) === summary) this.#summaries.delete(output.digest);
    });
    for (const oldest of this.#summaries.keys()) {
      if (this.#summaries.size <= MAX_SUMMARIES) break;
      this.#summaries.delete(oldest);
    }
    return summary;
  }
}

async function summarize(output: PackFileOutput): Promise<PackFileSummary> {
  const crcs = await output.check();
  const sha256 = createHash('sha256');
  for await (const chunk of output.zip(crcs).read()) sha256.update(chunk);
  return { crcs, sha256: sha256.digest('hex') };
}
