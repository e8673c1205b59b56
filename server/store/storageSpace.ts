import { GIGABYTE } from '../../shared/limits.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import { releasedBytes } from './sqlite/node/blobs.ts';
import type { Store } from './store.ts';

const STORAGE_PROBLEMS: ReadonlySet<string> = new Set([
  'storage_failed',
  'disk_nearly_full',
  'data_folder_away',
]);

/** Whether an error means that the disk has failed, is full or is away, so that the next write would fail too. */
export function isStorageFailure(error: unknown): boolean {
  if (error instanceof Problem) return STORAGE_PROBLEMS.has(error.code);
  const code = errorCode(error) ?? '';
  return /^(ENOSPC|EDQUOT|EIO|EROFS|SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN))/.test(code);
}

/** The limit that keeps more bytes from being stored. */
export type StorageLimit = 'data_cap_reached' | 'disk_nearly_full';

/** Returns how many bytes are stored, free and given up, with the owner's two limits. */
export function measureStorage(
  store: Pick<Store, 'read' | 'heldBytes' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
): StorageSpace {
  return {
    held_bytes: store.heldBytes(),
    ...releasedBytes(store.read),
    cap_bytes: Math.round(limits.data_cap_gb * GIGABYTE),
    free_bytes: store.freeBytes(),
    min_free_bytes: Math.round(limits.min_free_disk_gb * GIGABYTE),
    no_room: reachedStorageLimit(store, limits, 0),
  };
}

export interface StorageSpace {
  held_bytes: number;
  /** Absent if nothing was given up. */
  released_objects?: number;
  released_bytes?: number;
  cap_bytes: number;
  free_bytes: number;
  min_free_bytes: number;
  no_room: StorageLimit | null;
}

/** Returns which of the owner's two limits would be exceeded by storing `bytes` more bytes, or null. */
export function reachedStorageLimit(
  store: Pick<Store, 'heldBytes' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
  bytes: number,
): StorageLimit | null {
  const held = store.heldBytes();
  const cap = limits.data_cap_gb * GIGABYTE;
  if (held + bytes > cap || held >= cap) return 'data_cap_reached';
  if (store.freeBytes() - bytes < limits.min_free_disk_gb * GIGABYTE) return 'disk_nearly_full';
  return null;
}
