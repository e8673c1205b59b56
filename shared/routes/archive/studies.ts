import { z } from 'zod';
import { packDriftSchema, studyDriftSchema } from '../../archive/drift.ts';
import {
  newStatusSchema,
  newStudySchema,
  studiesQuery,
  studySchema,
  studyTableSchema,
} from '../../archive/study.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route } from '../route.ts';

/** Studies of the data-pack archive. */
export const studyRoutes = {
  listStudies: route({
    method: 'GET',
    path: '/api/studies',
    access: 'read',
    tag: 'Studies',
    summary: 'List studies',
    query: studiesQuery,
    responses: { 200: { description: 'A page of studies, newest first', schema: pageOf(studySchema) } },
  }),
  createStudy: route({
    method: 'POST',
    path: '/api/studies',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Create a study',
    body: jsonBody(newStudySchema),
    responses: { 201: { description: 'The study', schema: studySchema } },
    problems: ['unknown_node'],
  }),
  readStudy: route({
    method: 'GET',
    path: '/api/studies/{id}',
    access: 'read',
    tag: 'Studies',
    summary: 'Read a study',
    responses: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found'],
  }),
  setStudyStatus: route({
    method: 'POST',
    path: '/api/studies/{id}/status',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Set the status of a study',
    body: jsonBody(newStatusSchema),
    responses: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found', 'invalid_transition'],
  }),
  readStudyTable: route({
    method: 'GET',
    path: '/api/studies/{id}/table',
    access: 'read',
    tag: 'Studies',
    summary: 'Read the results of a study as a table',
    description: 'One row per pack, oldest first. With `format=csv` the table is CSV.',
    query: z.strictObject({
      format: z
        .string()
        .optional()
        .meta({ enum: ['csv'] }),
    }),
    responses: { 200: { description: 'The table', schema: studyTableSchema, mediaTypes: ['text/csv'] } },
    problems: ['not_found', 'invalid_format'],
  }),
};

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
