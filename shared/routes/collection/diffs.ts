import { diffSchema } from '../../collection/diff.ts';
import { newNoisePreviewSchema, noisePreviewSchema } from '../../collection/noisePreview.ts';
import { jobSchema } from '../../node/job.ts';
import { jsonBody, NO_BODY, route } from '../route.ts';

/** The problems of a request for a diff. */
export const DIFF_PROBLEMS = [
  'not_found',
  'nothing_to_compare',
  'precondition_failed',
  'blob_damaged',
  'copy_unreachable',
  'not_derivable',
  'derivation_busy',
  'shutting_down',
  'storage_failed',
] as const;

/** Differences between two versions of a source, and the noise rules that mark irrelevant changes. */
export const diffRoutes = {
  readDiff: route({
    method: 'GET',
    path: '/api/events/{id}/diff',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read the difference between the two versions of an event',
    description:
      'The diff is computed at the first request and stored until the tool or the noise rules of the source change. It ' +
      'is derived data: the two objects are the evidence. There is no endpoint that lists diffs.',
    headers: { 'If-None-Match': 'The entity tag of a cached copy.' },
    responses: {
      200: { description: 'The diff; its form depends on the kind of the objects', schema: diffSchema },
      304: { description: 'Not modified' },
    },
    problems: DIFF_PROBLEMS,
  }),
  runNoiseRules: route({
    method: 'POST',
    path: '/manage/sources/{id}/noise',
    access: 'owner',
    tag: 'Manage',
    summary: 'Apply the noise rules of a source to all of its past changes, as a job',
    body: NO_BODY,
    responses: { 202: { description: 'The job', schema: jobSchema } },
    problems: ['not_found'],
  }),
  previewNoiseRules: route({
    method: 'POST',
    path: '/manage/sources/{id}/noise/preview',
    access: 'owner',
    tag: 'Manage',
    summary: 'Preview noise rules without storing them',
    description:
      'Applies the rules to the newest changes of the source, as many as fit into the time limit. With `event` they are ' +
      'applied to that change only, and the response includes its diff.',
    body: jsonBody(newNoisePreviewSchema),
    responses: { 200: { description: 'The effect of the rules on each change', schema: noisePreviewSchema } },
    problems: ['not_found', 'blob_damaged', 'copy_unreachable', 'not_derivable', 'derivation_busy'],
  }),
};
