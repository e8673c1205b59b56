import { z } from 'zod';
import {
  bringBackResultSchema,
  copyChangeSchema,
  copyCheckRequestSchema,
  copyCheckSchema,
  copyKeySchema,
  copySchema,
  copySyncSchema,
  lostCopySchema,
  newCopySchema,
  objectPlacesSchema,
  offloadResultSchema,
  offloadStateSchema,
  restoreDrillSchema,
} from '../../node/copy.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jobOrResult, jsonBody, manageRoute, NO_BODY } from '../route.ts';

/** Copies of the archive in folders and buckets. */
export const copyRoutes = {
  listCopies: manageRoute({
    method: 'GET',
    path: '/manage/copies',
    summary: 'List the copies of the archive',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of copies, oldest first', schema: pageOf(copySchema) } },
  }),
  addCopy: manageRoute({
    method: 'POST',
    path: '/manage/copies',
    summary: 'Add a copy in a folder or a bucket',
    description:
      'The place must be empty, or hold a copy of this archive, which is taken over. The access key is kept in the data folder and never shown again; without one, the environment and the usual files are used.',
    body: jsonBody(newCopySchema),
    responses: { 201: { description: 'The copy', schema: copySchema } },
    problems: ['copy_exists', 'copy_failed'],
  }),
  changeCopy: manageRoute({
    method: 'PATCH',
    path: '/manage/copies/{id}',
    summary: 'Change the settings of a copy',
    description:
      'Another endpoint, region or access key is kept only if the copy is found with it. If the pages for readers change, the next sync regenerates them, or removes them.',
    body: jsonBody(copyChangeSchema),
    responses: { 200: { description: 'The copy', schema: copySchema } },
    problems: ['not_found', 'copy_exists', 'copy_failed'],
  }),
  removeCopy: manageRoute({
    method: 'DELETE',
    path: '/manage/copies/{id}',
    summary: 'Forget a copy; what it holds stays there',
    responses: { 204: { description: 'Forgotten' } },
    problems: ['not_found', 'copy_needed'],
  }),
  syncCopy: manageRoute({
    method: 'POST',
    path: '/manage/copies/{id}/sync',
    summary: 'Bring a copy up to date',
    description:
      'Sends only what is new, the checkpoint last. If a sync is running, the response is about that one. With `wait=true` the response is sent when it has ended.',
    body: NO_BODY,
    ...jobOrResult('The job that sends it', 'What was sent', copySyncSchema),
    problems: ['not_found', 'copy_failed'],
  }),
  checkCopy: manageRoute({
    method: 'POST',
    path: '/manage/copies/{id}/check',
    summary: 'Read a copy back and hash it',
    description:
      'Files that are damaged or missing are sent again. Objects that are damaged in this archive and intact in the copy are put back here.',
    body: { ...jsonBody(copyCheckRequestSchema), optional: true as const },
    ...jobOrResult('The job that reads', 'What was found', copyCheckSchema),
    problems: ['not_found', 'copy_failed'],
  }),
  drillCopy: manageRoute({
    method: 'POST',
    path: '/manage/copies/{id}/drill',
    summary: 'Test whether the archive can be restored from a copy',
    description:
      'Restores all records and a sample of the objects into a temporary folder, opens and verifies the archive there, compares it with this one, and removes it. Changes neither. If a drill of this copy is running, the response is about that one.',
    body: NO_BODY,
    ...jobOrResult('The job that restores', 'What was found', restoreDrillSchema),
    problems: ['not_found'],
  }),
  markCopyLost: manageRoute({
    method: 'POST',
    path: '/manage/copies/{id}/mark-lost',
    summary: 'Mark a copy as lost',
    description:
      'The offloaded objects that only this copy held are recorded in the ledger as damaged, and the copy is forgotten. Refused while the copy can be read.',
    body: NO_BODY,
    ...jobOrResult('The job that records it', 'What was lost', lostCopySchema),
    problems: ['not_found', 'copy_readable'],
  }),
  keepKeyInCopy: manageRoute({
    method: 'PUT',
    path: '/manage/copies/{id}/key',
    summary: 'Keep the key of the archive in a copy, encrypted with a passphrase',
    description:
      'The file `key.age` (age, C2SP) is protected by the passphrase alone. The passphrase is not kept. After a new key, it has to be kept again.',
    body: jsonBody(copyKeySchema),
    responses: { 200: { description: 'The copy', schema: copySchema } },
    problems: ['not_found', 'copy_failed'],
  }),
  removeKeyFromCopy: manageRoute({
    method: 'DELETE',
    path: '/manage/copies/{id}/key',
    summary: 'Remove the key of the archive from a copy',
    responses: { 204: { description: 'Removed' } },
    problems: ['not_found', 'copy_failed'],
  }),
};

/** Offloaded objects: only copies hold their bytes. */
export const offloadRoutes = {
  readOffload: manageRoute({
    method: 'GET',
    path: '/manage/offload',
    summary: 'What is stored on this disk, and what only in copies',
    responses: { 200: { description: 'The numbers', schema: offloadStateSchema } },
  }),
  offload: manageRoute({
    method: 'POST',
    path: '/manage/offload',
    summary: 'Offload objects that a checked copy holds',
    description:
      'Follows the settings `offload_after_days` and `keep_local_gb`; without them, nothing is offloaded. An object is offloaded only if a copy was checked within `audit_every_days` and gives it back intact now. The node does the same automatically after each check.',
    body: NO_BODY,
    ...jobOrResult('The job', 'What was offloaded', offloadResultSchema),
    problems: ['copy_failed', 'copy_unreachable'],
  }),
  bringBack: manageRoute({
    method: 'POST',
    path: '/manage/offload/return',
    summary: 'Restore all offloaded objects to this disk',
    description:
      'Change the settings `offload_after_days` and `keep_local_gb` to null first; otherwise the objects are offloaded again.',
    body: NO_BODY,
    ...jobOrResult('The job', 'What was restored', bringBackResultSchema),
    problems: ['copy_unreachable', 'data_cap_reached', 'disk_nearly_full'],
  }),
  readObjectPlaces: manageRoute({
    method: 'GET',
    path: '/manage/offload/objects/{sha256}',
    summary: 'Where an object is stored',
    responses: { 200: { description: 'The places that hold it', schema: objectPlacesSchema } },
    problems: ['not_found'],
  }),
};
