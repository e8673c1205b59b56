import {
  comparePackFilesQuery,
  comparePacksQuery,
  packComparisonSchema,
} from '../../archive/packComparison.ts';
import { fileDiffSchema } from '../../collection/diff.ts';
import { DIFF_PROBLEMS } from '../collection/diffs.ts';
import { route } from '../route.ts';

/** Differences between two packs, such as two versions of one. */
export const packComparisonRoutes = {
  comparePacks: route({
    method: 'GET',
    path: '/api/packs/{id}/compare',
    access: 'read',
    tag: 'Packs',
    summary: 'Compare two packs',
    description:
      'Compares the records field by field, and the files by path and digest. `id` is the older pack and `with` the ' +
      'newer one; they need not be versions of each other.',
    query: comparePacksQuery,
    responses: { 200: { description: 'The differences from `id` to `with`', schema: packComparisonSchema } },
    problems: ['not_found'],
  }),
  comparePackFiles: route({
    method: 'GET',
    path: '/api/packs/{id}/compare/file',
    access: 'read',
    tag: 'Packs',
    summary: 'Compare a file of two packs',
    description:
      'Compares the contents of the files that two packs have at one path, in the form that suits their media types. ' +
      'The diff is derived data and is not stored.',
    query: comparePackFilesQuery,
    headers: { 'If-None-Match': 'The entity tag of a cached copy.' },
    responses: {
      200: { description: 'The diff; its form depends on the kind of the files', schema: fileDiffSchema },
      304: { description: 'Not modified' },
    },
    problems: DIFF_PROBLEMS,
  }),
};
