import { packDriftSchema } from '../../archive/drift.ts';
import { route } from '../route.ts';

/** What became of the works that a pack relates to. */
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
};
