import { z } from 'zod';
import { jobSchema } from '../../node/job.ts';
import {
  bringBackResultSchema,
  objectPlacesSchema,
  offloadResultSchema,
  offloadStateSchema,
} from '../../node/offload.ts';
import { booleanParameter } from '../../values/list.ts';
import { NO_BODY, route } from '../route.ts';

const waitQuery = z.strictObject({ wait: booleanParameter.optional() });

/** Objects that leave this disk because copies hold them. */
export const offloadRoutes = {
  readOffload: route({
    method: 'GET',
    path: '/manage/offload',
    access: 'owner',
    tag: 'Manage',
    summary: 'What is stored on this disk, and what only in copies',
    responses: { 200: { description: 'The numbers', schema: offloadStateSchema } },
    problems: [],
  }),
  offload: route({
    method: 'POST',
    path: '/manage/offload',
    access: 'owner',
    tag: 'Manage',
    summary: 'Offload objects that a checked copy holds',
    description:
      'Follows the settings `offload_after_days` and `keep_local_gb`; without them, nothing is offloaded. An object is offloaded only if a copy was checked within `audit_every_days` and gives it back intact now. The node does the same automatically after each check.',
    query: waitQuery,
    body: NO_BODY,
    responses: {
      200: { description: 'What was offloaded', schema: offloadResultSchema },
      202: { description: 'The job', schema: jobSchema },
    },
    problems: ['copy_failed', 'copy_unreachable'],
  }),
  bringBack: route({
    method: 'POST',
    path: '/manage/offload/return',
    access: 'owner',
    tag: 'Manage',
    summary: 'Restore all offloaded objects to this disk',
    description:
      'Change the settings `offload_after_days` and `keep_local_gb` to null first; otherwise the objects are offloaded again.',
    query: waitQuery,
    body: NO_BODY,
    responses: {
      200: { description: 'What was restored', schema: bringBackResultSchema },
      202: { description: 'The job', schema: jobSchema },
    },
    problems: ['copy_unreachable', 'data_cap_reached', 'disk_nearly_full'],
  }),
  readObjectPlaces: route({
    method: 'GET',
    path: '/manage/offload/objects/{sha256}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Where an object is stored',
    responses: { 200: { description: 'The places that hold it', schema: objectPlacesSchema } },
    problems: ['not_found'],
  }),
};
