import { route } from '../route.ts';

const RESPONSES = {
  200: { description: 'One HTML file that checks itself, without network', mediaTypes: ['text/html'] },
} as const;
const DESCRIPTION =
  'The file holds the record, its ledger entry, proofs, the checkpoints with all signatures, the timestamps, and the bytes (up to 10 MB in all, beyond that by digest). Opened in a browser it recomputes all of it and says of each claim whether it holds, fails, or is only claimed.';
const PROBLEMS = [
  'not_found',
  'interface_missing',
  'archive_read_only',
  'database_damaged',
  'disk_nearly_full',
  'storage_failed',
] as const;

/** Evidence files: what a record says and what proves it, in one file. */
export const evidenceRoutes = {
  readEventEvidence: route({
    method: 'GET',
    path: '/api/events/{id}/evidence',
    access: 'read',
    tag: 'Timeline',
    summary: 'Download the evidence file of an event',
    description: DESCRIPTION,
    responses: RESPONSES,
    problems: PROBLEMS,
  }),
  readPackEvidence: route({
    method: 'GET',
    path: '/api/packs/{id}/evidence',
    access: 'read',
    tag: 'Packs',
    summary: 'Download the evidence file of a pack',
    description: DESCRIPTION,
    responses: RESPONSES,
    problems: PROBLEMS,
  }),
};
