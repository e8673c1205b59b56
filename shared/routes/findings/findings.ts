import { z } from 'zod';
import {
  findingDetailsSchema,
  findingSchema,
  findingsQuery,
  findingTagsSchema,
  newFindingSchema,
  withdrawalSchema,
} from '../../findings/finding.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route } from '../route.ts';

/** The owner's notes on events, objects and packs. */
export const findingRoutes = {
  listFindings: route({
    method: 'GET',
    path: '/api/findings',
    access: 'read',
    tag: 'Findings',
    summary: 'List findings',
    query: findingsQuery.extend({
      format: z
        .string()
        .optional()
        .meta({
          enum: ['csv', 'jsonld'],
          description:
            '`csv` or `jsonld` (a W3C Web Annotation collection) returns all matching findings and ignores `limit` and `offset`.',
        }),
    }),
    responses: {
      200: {
        description: 'A page of findings, newest first',
        schema: pageOf(findingSchema),
        mediaTypes: ['text/csv', 'application/ld+json'],
      },
    },
    problems: ['invalid_format', 'busy'],
  }),
  listFindingTags: route({
    method: 'GET',
    path: '/api/findings/tags',
    access: 'read',
    tag: 'Findings',
    summary: 'List the tags of current findings',
    description: 'At most 500 tags, the most frequent first.',
    responses: { 200: { description: 'The tags, with the number of findings', schema: findingTagsSchema } },
    problems: [],
  }),
  readFinding: route({
    method: 'GET',
    path: '/api/findings/{id}',
    access: 'read',
    tag: 'Findings',
    summary: 'Read a finding and its other versions',
    responses: { 200: { description: 'The finding', schema: findingDetailsSchema } },
    problems: ['not_found'],
  }),
  addFinding: route({
    method: 'POST',
    path: '/manage/findings',
    access: 'owner',
    tag: 'Findings',
    summary: 'Add a finding to an event, an object or a pack',
    description:
      'A finding is recorded in the ledger. It is readable by everyone who may read the archive, and is in dumps and copies. It is never changed or deleted: another finding can supersede it, and it can be withdrawn.',
    body: jsonBody(newFindingSchema),
    responses: { 201: { description: 'The finding', schema: findingSchema } },
    problems: ['unknown_target', 'unknown_finding', 'finding_superseded', 'archive_read_only'],
  }),
  withdrawFinding: route({
    method: 'POST',
    path: '/manage/findings/{id}/withdraw',
    access: 'owner',
    tag: 'Findings',
    summary: 'Withdraw a finding',
    description: 'Records a withdrawal that supersedes the finding. The finding itself stays readable.',
    body: jsonBody(withdrawalSchema),
    responses: { 201: { description: 'The withdrawal', schema: findingSchema } },
    problems: ['not_found', 'finding_superseded', 'archive_read_only'],
  }),
};
