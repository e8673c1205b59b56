import type { Copy } from '../../shared/node/copy.ts';
import type { CopyRow } from '../store/sqlite/node/copies.ts';

/** A copy as the interface shows it. */
export function asCopy(
  {
    writer: _secret,
    synced_size: size,
    read_back_at: _internal,
    pages_size: _shown,
    pages_version: _version,
    case_changes: _changes,
    synced_proofs: _proofs,
    synced_state: _state,
    pages,
    kept_key,
    ...row
  }: CopyRow,
  { newest, key, ...known }: { newest: number; key: string } & Pick<Copy, 'has_credentials' | 'paused'>,
): Copy {
  const behind = Math.max(0, newest - size);
  return { ...row, ...known, pages: pages === 1, has_key: kept_key === key, size, behind };
}
