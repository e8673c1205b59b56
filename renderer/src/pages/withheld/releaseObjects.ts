import type { NewRelease, ReleasePreview, WithheldObject } from '../../../../shared/node/withheld.ts';
import { call } from '../../api/client.ts';

/** Objects that one request lists. */
const LISTED_AT_ONCE = 500;

/** Lists what a withholding covers, to its end. */
export async function allWithheldObjects(
  withholding: number,
  signal: AbortSignal,
): Promise<WithheldObject[]> {
  const objects: WithheldObject[] = [];
  for (;;) {
    const query = { withholding, limit: LISTED_AT_ONCE, offset: objects.length };
    const { items } = await call('listWithheldObjects', { query, signal });
    objects.push(...items);
    if (items.length < LISTED_AT_ONCE) return objects;
  }
}

const KINDS = ['packs', 'sources', 'events', 'pages', 'handed_in', 'findings', 'cases', 'copies'] as const;
export type Kind = (typeof KINDS)[number];

/** What uses some objects, of one kind. What several of them share counts once, as far as it is named. */
export interface UsesOf<Name extends Kind> {
  total: number;
  /** The first ones. */
  items: ReleasePreview[Name]['items'];
}
export type Uses = { [Name in Kind]: UsesOf<Name> };

/** Of each kind, so many uses are kept to be shown. */
const KEPT = 6;
/** Requests that are sent at once. */
const AT_ONCE = 4;

/**
 * Finds what uses these objects: everything that loses its bytes. Few requests are sent at once, and little is kept of their
 * answers, because a set has thousands of objects.
 */
export async function usesOf(
  digests: readonly string[],
  { signal, onProgress }: { signal: AbortSignal; onProgress: (done: number) => void },
): Promise<Uses> {
  const found = new UsesCollector();
  let done = 0;
  const next = digests[Symbol.iterator]();
  const ask = async () => {
    for (const sha256 of next) {
      found.add(await call('previewRelease', { query: { sha256 }, signal }));
      onProgress((done += 1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return found.uses();
}

class UsesCollector {
  readonly #names = new Map<Kind, Set<string>>(KINDS.map((kind) => [kind, new Set()]));
  readonly #uses: Uses = {
    packs: { total: 0, items: [] },
    sources: { total: 0, items: [] },
    events: { total: 0, items: [] },
    pages: { total: 0, items: [] },
    handed_in: { total: 0, items: [] },
    findings: { total: 0, items: [] },
    cases: { total: 0, items: [] },
    copies: { total: 0, items: [] },
  };

  add(preview: ReleasePreview): void {
    for (const kind of KINDS) this.#addKind(kind, preview[kind]);
  }

  #addKind<Name extends Kind>(kind: Name, { total, items }: ReleasePreview[Name]): void {
    const names = this.#names.get(kind) ?? new Set();
    const uses: { total: number; items: unknown[] } = this.#uses[kind];
    for (const item of items) {
      const name = 'path' in item ? `${item.id} ${item.path}` : String(item.id);
      if (names.has(name)) continue;
      names.add(name);
      if (uses.items.length < KEPT) uses.items.push(item);
    }
    uses.total = Math.max(uses.total, names.size, total);
  }

  uses(): Uses {
    return this.#uses;
  }
}

/**
 * Gives up objects one after another. If one is refused, those before it are given up, and `onProgress` has said how many.
 *
 * @throws what the request for one throws
 */
export async function releaseAll(
  digests: readonly string[],
  why: Omit<NewRelease, 'sha256'>,
  onProgress: (done: number) => void,
): Promise<void> {
  for (const [index, sha256] of digests.entries()) {
    await call('release', { body: { sha256, ...why } });
    onProgress(index + 1);
  }
}
