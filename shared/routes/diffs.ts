import { diffSchema } from '../diff.ts';
import { jobSchema } from '../job.ts';
import { newNoisePreviewSchema, noisePreviewSchema } from '../noisePreview.ts';
import { jsonBody, NO_BODY, route } from './route.ts';

/** What differs between two versions, and what of it is no news. */
export const diffRoutes = {
  readDiff: route({
    method: 'GET',
    path: '/api/events/{id}/diff',
    access: 'read',
    tag: 'Timeline',
    summary: 'What differs between the two versions of an event',
    description:
      'Made when it is first asked for and kept, until the tool or the noise rules of the source are others. It is ' +
      'derived: the evidence are the two objects. There is no list of diffs.',
    headers: { 'If-None-Match': 'The entity tag of the copy that is held.' },
    answers: {
      200: { description: 'The diff, by the kind of the objects', schema: diffSchema },
      304: { description: 'The copy held is the same' },
    },
    problems: [
      'not_found',
      'nothing_to_compare',
      'precondition_failed',
      'blob_damaged',
      'not_derivable',
      'derivation_busy',
      'shutting_down',
      'storage_failed',
    ],
  }),
  runNoiseRules: route({
    method: 'POST',
    path: '/manage/sources/{id}/noise',
    access: 'owner',
    tag: 'Manage',
    summary: 'Apply the present noise rules of a source to all of its past versions, as a job',
    body: NO_BODY,
    answers: { 202: { description: 'The job', schema: jobSchema } },
    problems: ['not_found'],
  }),
  previewNoiseRules: route({
    method: 'POST',
    path: '/manage/sources/{id}/noise/preview',
    access: 'owner',
    tag: 'Manage',
    summary: 'See what noise rules would mark, and change nothing',
    description:
      'Of the newest changes of the source, as many as there is time for, or of the one that is named: then with its ' +
      'diff under these rules.',
    body: jsonBody(newNoisePreviewSchema),
    answers: { 200: { description: 'What the rules find', schema: noisePreviewSchema } },
    problems: ['not_found', 'blob_damaged', 'not_derivable', 'derivation_busy'],
  }),
};
