import { packDrift } from '../../../drift/packDrift.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok } from '../../reply.ts';

/** The handler for what became of a pack's related works. */
export function driftHandlers(store: Store): Pick<Handlers, 'readPackDrift'> {
  return { readPackDrift: ({ params: { id = '' } }) => ok(packDrift(store, id)) };
}
