import { readSetting, writeSetting } from '../store/sqlite/settings.ts';
import type { Store } from '../store/store.ts';

/**
 * The node's name, chosen once at first start and never changed: the origin of its checkpoints (C2SP tlog-checkpoint)
 * and the name of its key, so it has no space and no plus sign. Random, because a machine's own name is nobody's business.
 */
export async function openNodeName(store: Store): Promise<string> {
  const kept = readSetting(store.read, 'node_name');
  if (typeof kept === 'string') return kept;
  const name = `node-${store.randomHex(10)}.local/strongroom`;
  await store.write((database) => writeSetting(database, 'node_name', name));
  return name;
}
