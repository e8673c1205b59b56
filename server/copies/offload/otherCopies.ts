import { allCopies, type CopyRow, insertCopiedObjects } from '../../store/sqlite/node/copies.ts';
import type { Store } from '../../store/store.ts';
import { objectPath } from '../copyPaths.ts';
import { readCredentials } from '../keys/credentials.ts';
import { openTarget } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';

/** The other copies of an archive that can be read. */
export class OtherCopies {
  readonly #store: Store;
  readonly #targets: Map<string, CopyTarget>;

  private constructor(store: Store, targets: Map<string, CopyTarget>) {
    this.#store = store;
    this.#targets = targets;
  }

  static async open(store: Store, besides: CopyRow): Promise<OtherCopies> {
    const credentials = await readCredentials(store.folder);
    const targets = new Map<string, CopyTarget>();
    for (const row of allCopies(store.read))
      if (row.id !== besides.id) {
        const target = await openIfReached({ ...row, ...credentials[row.id] });
        if (target) targets.set(row.id, target);
      }
    return new OtherCopies(store, targets);
  }

  /**
   * Reads an object back from the copies in turn until one holds it intact, and records that this one does. A copy may
   * hold more than is recorded: its last sync may have been interrupted.
   */
  async find(sha256: string): Promise<boolean> {
    for (const [id, target] of this.#targets)
      if (await this.#holds(id, target, sha256)) {
        await this.#store.write((database) => insertCopiedObjects(database, id, [sha256]));
        return true;
      }
    return false;
  }

  async #holds(id: string, target: CopyTarget, sha256: string): Promise<boolean> {
    try {
      return (await target.digestOf(objectPath(sha256)))?.sha256 === sha256;
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      // It is not tried again, because an attempt may take a minute.
      this.#targets.delete(id);
      target.close();
      return false;
    }
  }

  close(): void {
    for (const target of this.#targets.values()) target.close();
  }
}

async function openIfReached(address: Parameters<typeof openTarget>[0]): Promise<CopyTarget | undefined> {
  try {
    return await openTarget(address);
  } catch (error) {
    if (error instanceof CopyError) return undefined;
    throw error;
  }
}
