import { packDrift } from '../../../drift/packDrift.ts';
import { studyDrift } from '../../../drift/studyDrift.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok } from '../../reply.ts';

/** The handlers for what became of the works that packs relate to. */
export function driftHandlers(store: Store): Pick<Handlers, 'readPackDrift' | 'readStudyDrift'> {
  return {
    readPackDrift: ({ params: { id = '' } }) => ok(packDrift(store, id)),
    readStudyDrift: async ({ params: { id = '' } }) => ok(await studyDrift(store, id)),
  };
}
