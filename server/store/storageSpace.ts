import { GIGABYTE } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import type { Settings } from '../../shared/settings.ts';
import { counter } from './sqlite/node/blobs.ts';
import type { Store } from './store.ts';

/** Whether an error says that the disk fails or is full, so that whatever comes next would fare no better. */
export function isStorageFailure(error: unknown): boolean {
  if (error instanceof Problem) return error.code === 'storage_failed' || error.code === 'disk_nearly_full';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(ENOSPC|EDQUOT|EIO|EROFS|SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN))/.test(code);
}

/** Why no more bytes may be stored. */
export type StorageLimit = 'data_cap_reached' | 'disk_nearly_full';

/** How much is held and free, in bytes, against the owner's two limits. */
export async function measureStorage(
  store: Pick<Store, 'read' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
): Promise<Room> {
  return {
    held_bytes: counter(store.read, 'blob_bytes'),
    cap_bytes: Math.round(limits.data_cap_gb * GIGABYTE),
    free_bytes: store.freeBytes(),
    min_free_bytes: Math.round(limits.min_free_disk_gb * GIGABYTE),
    no_room: await reachedStorageLimit(store, limits, 0),
  };
}

export interface Room {
  held_bytes: number;
  cap_bytes: number;
  free_bytes: number;
  min_free_bytes: number;
  no_room: StorageLimit | null;
}

/** Whether so many more bytes of blobs may be stored: null, or which of the owner's two limits says no. */
export async function reachedStorageLimit(
  store: Pick<Store, 'read' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
  bytes: number,
): Promise<StorageLimit | null> {
  const held = counter(store.read, 'blob_bytes');
  const cap = limits.data_cap_gb * GIGABYTE;
  if (held + bytes > cap || held >= cap) return 'data_cap_reached';
  if (store.freeBytes() - bytes < limits.min_free_disk_gb * GIGABYTE) return 'disk_nearly_full';
  return null;
}
