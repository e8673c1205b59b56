import { resolve } from 'node:path';
import type { ChecksumFile, Expected } from './checksumFile.ts';
import { type PlainFile, plainFile } from './plainFiles.ts';
import { type Finding, finding } from './report.ts';
import type { WalkedEntry } from './walkFolder.ts';

interface ListedFolder {
  /** The listed files that were not found yet, by their absolute paths. */
  expected: Expected;
  list: ChecksumFile | undefined;
  stopAtBags: boolean;
}

/** Sorts the entries of a walked folder by how they are verified. */
export class FolderContents {
  readonly others: Finding[] = [];
  readonly packFiles: { path: string; bytes: number }[] = [];
  readonly bags: string[] = [];
  readonly #expected: Expected;
  readonly #list: ChecksumFile | undefined;
  readonly #listPath: string | undefined;
  readonly #findsPackFiles: boolean;

  constructor({ expected, list, stopAtBags }: ListedFolder) {
    this.#expected = expected;
    this.#list = list;
    this.#listPath = list && resolve(list.file);
    this.#findsPackFiles = stopAtBags;
  }

  /** Yields the plain files, and keeps the other entries. Removes what is there from the expected files. */
  async *plainFiles(walked: AsyncIterable<WalkedEntry[]>): AsyncGenerator<PlainFile[]> {
    for await (const entries of walked) {
      const files: PlainFile[] = [];
      for (const entry of entries) {
        const file = this.#sort(entry);
        if (file) files.push(file);
      }
      yield files;
    }
  }

  #sort(entry: WalkedEntry): PlainFile | undefined {
    const { path, absolute } = entry;
    const listed = this.#expected.get(absolute);
    if (listed) this.#expected.delete(absolute);
    if (entry.kind === 'bag') this.bags.push(path);
    else if (entry.kind === 'other') this.others.push(finding(path, 'unknown', { detail: entry.detail }));
    else if (this.#findsPackFiles && !listed && path.endsWith('.pack.zip'))
      this.packFiles.push({ path, bytes: entry.bytes });
    else if (absolute !== this.#listPath) return plainFile(path, entry.bytes, listed, this.#list);
    return undefined;
  }
}
