import { createHash, hash } from 'node:crypto';
import type { PackFile } from '../../../shared/archive/pack.ts';
import {
  areJoined,
  isOfPeerAlone,
  partDigests,
  requireNoneReleased,
} from '../../archive/sets/joinedFiles.ts';
import { setNamedBy } from '../../archive/sets/readSet.ts';
import type { SetIndex, SetPart } from '../../archive/sets/setIndex.ts';
import { isJoined, type JoinedPart, joinFiles } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { notGiven } from './absent.ts';
import { RefusedRecordError } from './mirrorTally.ts';
import type { Mirroring } from './remoteLog.ts';

/** A file that a list of the peer has in parts. */
interface ListedFile {
  sha256: string;
  /** Whether its parts at the peer have its bytes. */
  isVerified: boolean;
}

/**
 * The lists of the sets of a peer, and the files that they have in parts. The parts are mirrored before the list is recorded.
 * Meanwhile, they must not bring back a file that was released here, nor show one that is withheld here.
 */
export class SetLists {
  readonly #mirroring: Pick<Mirroring, 'store' | 'client' | 'origin' | 'tally' | 'signal'>;
  /** By the digest of a part. */
  readonly #files = new Map<string, ListedFile[]>();

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
  }

  /**
   * Returns the packs that the list of a set names, none if the peer does not give it or if it is no list.
   *
   * @throws like `check`; RefusedRecordError `wrong_bytes`
   */
  async packsOf({ sha256, bytes }: PackFile): Promise<readonly string[]> {
    const { store, client, tally } = this.#mirroring;
    const list = Buffer.alloc(bytes);
    let filled = 0;
    try {
      for await (const chunk of client.stream(`/api/blobs/${sha256}`)) {
        if (filled + chunk.length > bytes) throw new RefusedRecordError('wrong_bytes');
        list.set(chunk, filled);
        filled += chunk.length;
      }
    } catch (error) {
      if (!notGiven(error, store.instant())) throw error;
      tally.setsWithoutParts += 1;
      return [];
    }
    if (hash('sha256', list, 'hex') !== sha256) throw new RefusedRecordError('wrong_bytes');
    const index = await setNamedBy(list);
    if (!index) return [];
    await this.check(index);
    return index.packs;
  }

  /**
   * Checks a list before its parts are mirrored. If this archive has a file of the list from elsewhere, the parts at the peer
   * must have its bytes. Then each part is withheld with the file from the start.
   *
   * @throws Problem `released`; RefusedRecordError `wrong_bytes`; PeerError, also if the peer does not give a part of it
   */
  async check(index: SetIndex): Promise<void> {
    const { store } = this.#mirroring;
    requireNoneReleased(store.read, index.joined);
    for (let file = 0; file < index.count; file += 1) {
      const parts = partDigests(index, file);
      if (index.partsOf(file).length < 2) continue;
      const sha256 = index.sha256Of(file);
      const isVerified = !this.#isBelieved(store.read, sha256, parts);
      if (isVerified) await this.#verify(sha256, index.partsOf(file));
      for (const part of parts) {
        const files = this.#files.get(part);
        if (files) files.push({ sha256, isVerified });
        else this.#files.set(part, [{ sha256, isVerified }]);
      }
    }
    // An interrupted run may have stored some of the parts.
    const here = index.joined.flatMap(([, part]) => (blobBytes(store.read, part) === undefined ? [] : part));
    if (here.length > 0) await store.write((database) => this.tie(database, here));
  }

  /**
   * Records of which files these are parts, in the transaction that records them.
   *
   * @throws Problem `released`; RefusedRecordError `missing_reference` for a part of a file that was stored from elsewhere since the check
   */
  tie(database: WriteDatabase, parts: readonly string[]): void {
    const joined: JoinedPart[] = [];
    for (const part of new Set(parts))
      for (const { sha256, isVerified } of this.#files.get(part) ?? []) {
        requireNoneReleased(database, [[sha256, part]]);
        if (!isVerified && !this.#isBelieved(database, sha256, [part]))
          throw new RefusedRecordError('missing_reference');
        if (isVerified || isKnown(database, sha256)) joined.push([sha256, part]);
      }
    joinFiles(database, joined, this.#mirroring.origin);
  }

  /** Whether the list needs no check of a file: this archive does not have it, knows its parts, or has all of it from the peer alone. */
  #isBelieved(database: ReadDatabase, sha256: string, parts: readonly string[]): boolean {
    return (
      !isKnown(database, sha256) ||
      areJoined(database, sha256, parts) ||
      isOfPeerAlone(database, sha256, parts, this.#mirroring.origin)
    );
  }

  /** Requires that the parts at the peer, one after the other, have the digest of the file. */
  async #verify(sha256: string, parts: readonly SetPart[]): Promise<void> {
    const { client, signal } = this.#mirroring;
    const whole = createHash('sha256');
    for (const part of parts) {
      signal.throwIfAborted();
      const piece = createHash('sha256');
      let bytes = 0;
      for await (const chunk of client.stream(`/api/blobs/${part.sha256}`)) {
        bytes += chunk.length;
        if (bytes > part.bytes) throw new RefusedRecordError('wrong_bytes');
        piece.update(chunk);
        whole.update(chunk);
      }
      if (bytes !== part.bytes || piece.digest('hex') !== part.sha256)
        throw new RefusedRecordError('wrong_bytes');
    }
    if (whole.digest('hex') !== sha256) throw new RefusedRecordError('wrong_bytes');
  }
}

/** Whether this archive has a file, whole or in parts. */
function isKnown(database: ReadDatabase, sha256: string): boolean {
  return blobBytes(database, sha256) !== undefined || isJoined(database, sha256);
}
