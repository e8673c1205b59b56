import { z } from 'zod';
import {
  newWitnessedLogSchema,
  witnessedLogSchema,
  witnessRefusalSchema,
  witnessStatesSchema,
} from '../../ledger/witness.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, NO_BODY, route } from '../route.ts';

/** Witnesses of this node, and this node as a witness of other logs (C2SP tlog-witness, tlog-cosignature). */
export const witnessRoutes = {
  addCheckpoint: route({
    method: 'POST',
    path: '/witness/add-checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'Have a checkpoint of another log cosigned by this node (C2SP tlog-witness)',
    description:
      'The body is `old <size>`, a consistency proof from that size, an empty line and the checkpoint. The owner names the logs. The state is on stable storage before the response is sent.',
    body: { kind: 'stream', mediaTypes: ['text/plain'] },
    responses: {
      200: { description: 'The cosignature: a signature line', mediaTypes: ['text/plain'] },
      409: {
        description: 'The size of the checkpoint that was cosigned last',
        mediaTypes: ['text/x.tlog.size'],
      },
    },
    problems: [
      'invalid_checkpoint',
      'checkpoint_not_signed',
      'unknown_log',
      'inconsistent_checkpoint',
      'body_too_large',
      'archive_read_only',
      'disk_nearly_full',
      'storage_failed',
    ],
  }),
  readWitnessKey: route({
    method: 'GET',
    path: '/witness/key',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read the verifier key of this node as a witness (C2SP tlog-cosignature)',
    responses: { 200: { description: 'The key, as `name+hash+key`', mediaTypes: ['text/plain'] } },
    problems: ['archive_read_only'],
  }),
  readWitnesses: route({
    method: 'GET',
    path: '/manage/witnesses',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read what each witness of the settings cosigned',
    responses: { 200: { description: 'The witnesses', schema: witnessStatesSchema } },
    problems: [],
  }),
  submitToWitnesses: route({
    method: 'POST',
    path: '/manage/witnesses/submit',
    access: 'owner',
    tag: 'Manage',
    summary: 'Send the checkpoint to every witness now',
    body: NO_BODY,
    responses: { 200: { description: 'The witnesses, after they were asked', schema: witnessStatesSchema } },
    problems: ['archive_read_only', 'disk_nearly_full', 'storage_failed', 'shutting_down'],
  }),
  listWitnessedLogs: route({
    method: 'GET',
    path: '/manage/witness/logs',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the logs for which this node is a witness',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of logs, oldest first', schema: pageOf(witnessedLogSchema) } },
    problems: [],
  }),
  addWitnessedLog: route({
    method: 'POST',
    path: '/manage/witness/logs',
    access: 'owner',
    tag: 'Manage',
    summary: 'Become a witness of a log, by its verifier key',
    description: 'A log that was removed is taken up again with the state that it had.',
    body: jsonBody(newWitnessedLogSchema),
    responses: { 201: { description: 'The log', schema: witnessedLogSchema } },
    problems: ['log_exists'],
  }),
  removeWitnessedLog: route({
    method: 'DELETE',
    path: '/manage/witness/logs/{+origin}',
    access: 'owner',
    tag: 'Manage',
    summary: 'End being a witness of a log',
    responses: { 204: { description: 'Its checkpoints are no longer cosigned' } },
    problems: ['not_found'],
  }),
  listWitnessRefusals: route({
    method: 'GET',
    path: '/manage/witness/refusals',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the checkpoints that contradict what this node cosigned before',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of refused requests, newest first', schema: pageOf(witnessRefusalSchema) },
    },
    problems: [],
  }),
};
