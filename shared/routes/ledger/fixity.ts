import { z } from 'zod';
import { auditResultSchema, auditSchema, damageSchema, lostFileSchema } from '../../ledger/fixity.ts';
import { jobSchema } from '../../node/job.ts';
import { booleanParameter, listQuery, pageOf } from '../../values/list.ts';
import { NO_BODY, route } from '../route.ts';

/** Audits of the stored bytes, and the damage that was found. */
export const fixityRoutes = {
  listDamages: route({
    method: 'GET',
    path: '/api/damages',
    access: 'read',
    tag: 'Objects',
    summary: 'List all damage found in stored bytes, and whether it was repaired',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of damages, newest first', schema: pageOf(damageSchema) } },
    problems: [],
  }),
  listAudits: route({
    method: 'GET',
    path: '/manage/audits',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the audits of stored bytes',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of audits, newest first', schema: pageOf(auditSchema) } },
    problems: [],
  }),
  listLostAndFound: route({
    method: 'GET',
    path: '/manage/lost-and-found',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the files in `lost-and-found/`',
    description:
      'Blobs that no record refers to. An audit or a start of the node moved them there; nothing deletes them.',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of files, by name', schema: pageOf(lostFileSchema) } },
    problems: [],
  }),
  startAudit: route({
    method: 'POST',
    path: '/manage/audits',
    access: 'owner',
    tag: 'Manage',
    summary: 'Start an audit',
    description:
      'Checks the database and hashes every stored blob again. If an audit is already running, the response is about that one. With `wait=true` the response is sent when the audit has ended.',
    query: z.strictObject({ wait: booleanParameter.optional() }),
    body: NO_BODY,
    responses: {
      200: { description: 'The result of the audit', schema: auditResultSchema },
      202: { description: 'The job that runs the audit', schema: jobSchema },
    },
    problems: [],
  }),
};
