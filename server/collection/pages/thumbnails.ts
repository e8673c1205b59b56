import { Problem } from '../../../shared/problems.ts';
import type { Store } from '../../store/store.ts';
import { type Deriver, noticeDamagedObjects, objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';

const MAKE_MS = 10_000;
/** About 20 KB each. */
const MAX_KEPT = 200;

/** Small images of pages for lists, made when they are first shown. They are derived, and in memory only. */
export class Thumbnails {
  readonly #store: Store;
  readonly #deriver: Pick<Deriver, 'derive'>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  constructor(store: Store, deriver: Pick<Deriver, 'derive'>) {
    this.#store = store;
    this.#deriver = deriver;
    store.blobs.onRemoved((sha256) => this.#kept.delete(sha256));
  }

  /** Returns the thumbnail of a picture. @throws Problem `not_derivable`, `derivation_busy`, `shutting_down` */
  of(picture: string): Promise<Uint8Array> {
    const made = this.#kept.get(picture) ?? this.#make(picture);
    // The one that was asked for last goes last.
    this.#kept.delete(picture);
    this.#kept.set(picture, made);
    made.catch(() => this.#kept.delete(picture));
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return made;
  }

  async #make(picture: string): Promise<Uint8Array> {
    try {
      const object = { ...objectToRead(this.#store, picture), contentType: 'image/png' };
      const { png } = await this.#deriver.derive(
        { task: 'thumbnail', object },
        { timeoutMs: MAKE_MS, priority: 'normal' },
      );
      return png;
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      await noticeDamagedObjects(this.#store, error, [picture]);
      throw new Problem('not_derivable', `The picture has no thumbnail. ${error.message}`, {
        members: { reason: error.reason },
        cause: error,
      });
    }
  }
}
