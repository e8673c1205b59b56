import { GIGABYTE } from '../../shared/limits.ts';
import type { Settings } from '../../shared/settings.ts';
import { counter } from './sqlite/blobs.ts';
import type { Store } from './store.ts';

/** Why no more bytes may be stored. */
export type NoRoom = 'data_cap_reached' | 'disk_nearly_full';

/** Whether so many more bytes of blobs may be stored: null, or which of the owner's two limits says no. */
export async function noRoomFor(
  store: Pick<Store, 'read' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
  bytes: number,
): Promise<NoRoom | null> {
  const held = counter(store.read, 'blob_bytes');
  const cap = limits.data_cap_gb * GIGABYTE;
  if (held + bytes > cap || held >= cap) return 'data_cap_reached';
  if ((await store.freeBytes()) - bytes < limits.min_free_disk_gb * GIGABYTE) return 'disk_nearly_full';
  return null;
}
