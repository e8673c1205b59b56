import { z } from 'zod';
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
    problems: [],
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
