import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { StorageLimit } from '../../store/storageSpace.ts';

/** Returns the problem for a write that is refused because of the storage limits. */
export function outOfSpace(refusal: StorageLimit, { data_cap_gb, min_free_disk_gb }: Settings): Problem {
  if (refusal === 'data_cap_reached') {
    const detail = `The archive is limited to ${data_cap_gb} GB and has no space left for this. Its owner can raise data_cap_gb.`;
    return new Problem('data_cap_reached', detail, { members: { limit: 'data_cap_gb' } });
  }
  const detail = `The archive keeps ${min_free_disk_gb} GB of its disk free, and less is left. Its owner can free some space or lower min_free_disk_gb.`;
  return new Problem('disk_nearly_full', detail, { members: { limit: 'min_free_disk_gb' } });
}
