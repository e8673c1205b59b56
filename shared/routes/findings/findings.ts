import { z } from 'zod';
import {
  caseChangeSchema,
  caseSchema,
  caseSummarySchema,
  casesQuery,
  newCaseItemSchema,
  newCaseSchema,
} from '../../findings/case.ts';
import {
  findingDetailsSchema,
  findingSchema,
  findingsQuery,
  findingTagsSchema,
  newFindingRequestSchema,
  sealedFindingSchema,
  sealedFindingsQuery,
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
  }),
  listSealedFindings: route({
    method: 'GET',
    path: '/api/findings/sealed',
    access: 'read',
    tag: 'Findings',
    summary: 'List the findings that are sealed',
    description:
      'Newest first. Visitors get that something was sealed, and when. The filters are for the owner: for visitors, nothing matches them.',
    query: sealedFindingsQuery,
    responses: { 200: { description: 'A page of sealed findings', schema: pageOf(sealedFindingSchema) } },
  }),
  readFinding: route({
    method: 'GET',
    path: '/api/findings/{id}',
    access: 'read',
    tag: 'Findings',
    summary: 'Read a finding and its other versions',
    description:
      'A finding that is still sealed has its id, its ledger entry and `sealed`. The owner gets its text, tags, passage and target too.',
    responses: {
      200: { description: 'The finding', schema: z.union([findingDetailsSchema, sealedFindingSchema]) },
    },
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
    body: jsonBody(newFindingRequestSchema),
    responses: {
      201: { description: 'The finding', schema: z.union([findingSchema, sealedFindingSchema]) },
    },
    problems: [
      'unknown_target',
      'unknown_finding',
      'finding_superseded',
      'finding_sealed',
      'owner_key_invalid',
      'archive_read_only',
    ],
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
    problems: ['not_found', 'finding_superseded', 'finding_sealed', 'archive_read_only'],
  }),
  revealFinding: route({
    method: 'POST',
    path: '/manage/findings/{id}/reveal',
    access: 'owner',
    tag: 'Findings',
    summary: 'Reveal a sealed finding',
    description:
      'Publishes the record and the salt of a sealed finding, so that everyone can check that it is what was sealed. It is a finding like any other from then on. This cannot be undone.',
    responses: { 201: { description: 'The finding', schema: findingSchema } },
    problems: ['not_found', 'finding_not_sealed', 'sealed_unreadable', 'archive_read_only'],
  }),
};

/** Cases: ordered lists of events, packs and findings. */
export const caseRoutes = {
  listCases: route({
    method: 'GET',
    path: '/api/cases',
    access: 'read',
    tag: 'Cases',
    summary: 'List cases',
    query: casesQuery,
    responses: { 200: { description: 'A page of cases, newest first', schema: pageOf(caseSummarySchema) } },
  }),
  readCase: route({
    method: 'GET',
    path: '/api/cases/{id}',
    access: 'read',
    tag: 'Cases',
    summary: 'Read a case',
    responses: { 200: { description: 'The case', schema: caseSchema } },
    problems: ['not_found'],
  }),
  readCaseBag: route({
    method: 'GET',
    path: '/api/cases/{id}/bag',
    access: 'read',
    tag: 'Cases',
    summary: 'Download a case with its evidence as one bag',
    description:
      'A ZIP with one BagIt bag (RFC 8493): the evidence files, pack files, objects and findings of the case, and an index page. Objects that are missing, damaged or withheld are left out, and the index names them.',
    responses: { 200: { description: 'The bag', mediaTypes: ['application/zip'] } },
    memoryMb: 32,
    problems: ['not_found', 'busy', 'interface_missing'],
  }),
  createCase: route({
    method: 'POST',
    path: '/manage/cases',
    access: 'owner',
    tag: 'Cases',
    summary: 'Create a case',
    body: jsonBody(newCaseSchema),
    responses: { 201: { description: 'The case', schema: caseSchema } },
    problems: ['unknown_target', 'archive_read_only'],
  }),
  changeCase: route({
    method: 'PATCH',
    path: '/manage/cases/{id}',
    access: 'owner',
    tag: 'Cases',
    summary: 'Change the title, the description or the items of a case',
    description: 'Send the `revision` that was read. If the case was changed since, nothing is changed.',
    body: jsonBody(caseChangeSchema),
    responses: { 200: { description: 'The case', schema: caseSchema } },
    problems: ['not_found', 'unknown_target', 'case_changed', 'archive_read_only'],
  }),
  addCaseItem: route({
    method: 'POST',
    path: '/manage/cases/{id}/items',
    access: 'owner',
    tag: 'Cases',
    summary: 'Add an item to the end of a case',
    description: 'An item that the case has already is not added again.',
    body: jsonBody(newCaseItemSchema),
    responses: { 200: { description: 'The case', schema: caseSchema } },
    problems: ['not_found', 'unknown_target', 'case_full', 'archive_read_only'],
  }),
  deleteCase: route({
    method: 'DELETE',
    path: '/manage/cases/{id}',
    access: 'owner',
    tag: 'Cases',
    summary: 'Delete a case',
    description: 'The events, packs and findings of the case are not affected.',
    responses: { 204: { description: 'The case was deleted' } },
    problems: ['not_found', 'archive_read_only'],
  }),
};
