import { readStats, readStatus } from '../../../collection/timeline/status.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok } from '../../reply.ts';

/** Handlers for the state of the collection. */
export function collectionHandlers(
  store: Store,
  settings: SettingsStore,
): Pick<Handlers, 'readStatus' | 'readStats'> {
  return {
    readStatus: async () => {
      const status = await readStatus(store, settings.current);
      return { status: status.ok ? 200 : 503, json: status };
    },
    readStats: () => ok(readStats(store)),
  };
}
