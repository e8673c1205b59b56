import { z } from 'zod';
import { auditResultSchema, auditSchema, damageSchema, lostFileSchema } from '../fixity.ts';
import { jobSchema } from '../job.ts';
import { booleanParameter, listQuery, pageOf } from '../list.ts';
import { NO_BODY, route } from './route.ts';

/** Whether stored bytes are still what they were. */
export const fixityRoutes = {
  listDamages: route({
    method: 'GET',
    path: '/api/damages',
    access: 'read',
    tag: 'Objects',
    summary: 'Every damage of stored bytes that was found, newest first, and whether it was mended',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of damages', schema: pageOf(damageSchema) } },
    problems: [],
  }),
  listAudits: route({
    method: 'GET',
    path: '/manage/audits',
    access: 'owner',
    tag: 'Manage',
    summary: 'The audits of stored bytes, newest first',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of audits', schema: pageOf(auditSchema) } },
    problems: [],
  }),
  listLostAndFound: route({
    method: 'GET',
    path: '/manage/lost-and-found',
    access: 'owner',
    tag: 'Manage',
    summary: 'Stored bytes that no record names, set apart by an audit or at a start, by their names',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of files', schema: pageOf(lostFileSchema) } },
    problems: [],
  }),
  startAudit: route({
    method: 'POST',
    path: '/manage/audits',
    access: 'owner',
    tag: 'Manage',
    summary:
      'Check the database and re-hash every stored byte now; while an audit runs, that one is answered with',
    query: z.strictObject({ wait: booleanParameter.optional() }),
    body: NO_BODY,
    answers: {
      200: { description: 'The audit is over', schema: auditResultSchema },
      202: { description: 'The audit runs as a job', schema: jobSchema },
    },
    problems: [],
  }),
};
