import { packDriftSchema, studyDriftSchema } from '../../archive/drift.ts';
import { route } from '../route.ts';

/** What became of the works that packs relate to. */
export const driftRoutes = {
  readPackDrift: route({
    method: 'GET',
    path: '/api/packs/{id}/drift',
    access: 'read',
    tag: 'Packs',
    summary: 'Show whether related works have changed since the pack was received',
    description:
      'Covers the related works that are a watched source (by URL), an archived object or a file of another pack ' +
      '(by SHA-256, or by an address that ends in it). Other related works are not listed.',
    responses: {
      200: { description: 'The state of each related work that the archive knows', schema: packDriftSchema },
    },
    problems: ['not_found'],
  }),
  readStudyDrift: route({
    method: 'GET',
    path: '/api/studies/{id}/drift',
    access: 'read',
    tag: 'Studies',
    summary: 'Show which packs of a study relate to works that have changed since',
    description:
      'Lists the packs with a related work that changed, vanished or returned since the pack was received, as ' +
      '`/api/packs/{id}/drift` has it. The newest 500 packs that relate to other works are compared.',
    responses: {
      200: { description: 'The packs that drifted, with the works concerned', schema: studyDriftSchema },
    },
    problems: ['not_found'],
  }),
};
