import { Problem } from '../../../shared/problems.ts';
import type { Settings } from '../../../shared/settings.ts';
import type { StorageLimit } from '../../store/storageSpace.ts';

/** The refusal of a write that there is no room for. */
export function outOfSpace(refusal: StorageLimit, { data_cap_gb, min_free_disk_gb }: Settings): Problem {
  if (refusal === 'data_cap_reached') {
    const sentence = `This archive may hold ${data_cap_gb} GB and has no room for this. Its owner can raise data_cap_gb.`;
    return new Problem('data_cap_reached', sentence, { members: { limit: 'data_cap_gb' } });
  }
  const sentence = `The archive leaves ${min_free_disk_gb} GB of its disk free, and there is less. Its owner can make room or lower min_free_disk_gb.`;
  return new Problem('disk_nearly_full', sentence, { members: { limit: 'min_free_disk_gb' } });
}
