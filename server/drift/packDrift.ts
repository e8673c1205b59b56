import type { DriftItem, PackDrift } from '../../shared/archive/drift.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { parseRelatedIdentifier } from '../../shared/archive/relatedIdentifier.ts';
import { isDigest } from '../../shared/values/digest.ts';
import { readPack } from '../archive/packs/readPack.ts';
import { normalizeUrl, sourceIdOf } from '../collection/sources/sources.ts';
import { filesWithDigest, laterFileVersions } from '../store/sqlite/archive/fileVersions.ts';
import { sourceByKey, sourceKeyOf } from '../store/sqlite/collection/sources.ts';
import { sourcesOfObject } from '../store/sqlite/collection/versionEvents.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import type { Store } from '../store/store.ts';
import { driftOf } from './driftOf.ts';
import { type CitedVersion, citedVersion, driftOfSource } from './sourceDrift.ts';

/** The most sources, and the most files of other packs, that are listed for one related work. */
const MAX_PLACES = 20;

type Item = Pick<DriftItem, 'relation' | 'identifier'>;

/**
 * Returns what became of a pack's related works that this archive watches or holds, since the pack was received.
 *
 * @throws Problem `not_found`
 */
export function packDrift({ read }: Pick<Store, 'read'>, id: string): PackDrift {
  return read
    .transaction((): PackDrift => {
      const pack = readPack(read, id);
      const items = pack.related.flatMap((item) => {
        const digest = digestOf(item.identifier);
        return digest === undefined
          ? watchedSource(read, pack, item)
          : [...sourcesWith(read, pack, item, digest), ...filesOfOtherPacks(read, pack, item, digest)];
      });
      return { pack: pack.id, since: pack.evidence.received_at, items };
    })
    .deferred();
}

/** Returns the digest of an identifier: a SHA-256, or the address of an object or blob, which ends in one. */
export function digestOf(identifier: string): string | undefined {
  const parsed = parseRelatedIdentifier(identifier);
  if (parsed.kind === 'digest') return parsed.digest;
  const [folder, name = ''] = URL.parse(identifier)?.pathname.split('/').slice(-2) ?? [];
  return (folder === 'archive' || folder === 'blobs') && isDigest(name) ? name : undefined;
}

/** Compares with the version that the node knew of a watched URL when it received the pack. */
function watchedSource(read: ReadDatabase, pack: Pack, item: Item): DriftItem[] {
  if (!URL.canParse(item.identifier)) return [];
  const key = sourceKeyOf(read, sourceIdOf(normalizeUrl(item.identifier)));
  const cited = key === undefined ? undefined : citedVersion(read, key, { at: pack.evidence.received_at });
  return cited ? sourceItem(read, item, cited) : [];
}

function sourcesWith(read: ReadDatabase, pack: Pack, item: Item, sha256: string): DriftItem[] {
  return sourcesOfObject(read, sha256, MAX_PLACES).flatMap((key) => {
    const cited = citedVersion(read, key, { at: pack.evidence.received_at, sha256 });
    return cited ? sourceItem(read, item, cited) : [];
  });
}

function sourceItem(read: ReadDatabase, { relation, identifier }: Item, cited: CitedVersion): DriftItem[] {
  const source = sourceByKey(read, cited.sourceKey);
  if (!source) return [];
  const { id, url, name } = source;
  return [{ relation, identifier, kind: 'source', source: { id, url, name }, ...driftOfSource(read, cited) }];
}

function filesOfOtherPacks(
  read: ReadDatabase,
  pack: Pack,
  { relation, identifier }: Item,
  sha256: string,
): DriftItem[] {
  const files = filesWithDigest(read, sha256, { exceptPack: pack.ledger_entry, limit: MAX_PLACES });
  return files.map((file): DriftItem => {
    const later = laterFileVersions(read, file.id, file.path);
    const { state, current, by } = driftOf(
      sha256,
      later.map((version) => ({ sha256: version.sha256, event: version })),
    );
    return {
      relation,
      identifier,
      kind: 'file',
      state,
      at: by?.received_at ?? null,
      cited_sha256: sha256,
      current_sha256: current,
      pack: file.id,
      newest: later.at(-1)?.id ?? file.id,
      path: file.path,
    };
  });
}
