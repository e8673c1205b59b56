import { setEntriesQuery, setEntrySchema, setSchema } from '../../archive/set.ts';
import { pageOf } from '../../values/list.ts';
import { route, UNREADABLE } from '../route.ts';

const DAMAGED = ['blob_damaged', 'copy_unreachable'] as const;
const RANGES = ['precondition_failed', 'range_not_satisfiable'] as const;

/** Sets: data of more than one pack. A set is named by its manifest pack. */
export const setRoutes = {
  readSet: route({
    method: 'GET',
    path: '/api/packs/{id}/set',
    access: 'read',
    tag: 'Packs',
    summary: 'List the files of a set',
    responses: { 200: { description: 'The files, by path', schema: setSchema } },
    problems: ['not_found', ...UNREADABLE, ...DAMAGED],
  }),
  listSetEntries: route({
    method: 'GET',
    path: '/api/packs/{id}/set/entries',
    access: 'read',
    tag: 'Packs',
    summary: 'List a folder of a set',
    description: 'Folders first, then files, both in the order of their paths.',
    query: setEntriesQuery,
    responses: { 200: { description: 'A page of the folder', schema: pageOf(setEntrySchema) } },
    problems: ['not_found', ...UNREADABLE, ...DAMAGED],
  }),
  readSetFile: route({
    method: 'GET',
    path: '/api/packs/{id}/set/files/{+path}',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a file of a set',
    description: 'One stream of the parts of the file, with ranges across them.',
    responses: {
      200: { description: 'The file', mediaTypes: ['application/octet-stream'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/octet-stream', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', ...UNREADABLE, ...RANGES, ...DAMAGED],
  }),
  downloadSet: route({
    method: 'GET',
    path: '/api/packs/{id}/set/download',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a set as one file',
    description:
      'A BagIt bag (RFC 8493) of all files, in a ZIP (ZIP64) without compression. Every node sends the same bytes, so an interrupted download can be resumed. If a file is withheld, visitors get no ZIP.',
    responses: {
      200: { description: 'The ZIP', mediaTypes: ['application/zip'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/zip', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', ...UNREADABLE, ...RANGES, ...DAMAGED],
  }),
};
