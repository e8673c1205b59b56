import { draftSchema } from '../../archive/draft.ts';
import {
  CITATION_MEDIA_TYPES,
  citationEntriesSchema,
  importQuery,
  importRequestSchema,
  plannedImportSchema,
  recordFromQuery,
  recordImportSchema,
} from '../../archive/recordImport.ts';
import { jobSchema } from '../../node/job.ts';
import { jsonBody, route } from '../route.ts';

const CITATION_BODY = { kind: 'stream' as const, mediaTypes: Object.keys(CITATION_MEDIA_TYPES) };

/** Records of repositories and reference managers as drafts. */
export const importRoutes = {
  importRecord: route({
    method: 'POST',
    path: '/manage/import',
    access: 'owner',
    tag: 'Manage',
    summary: 'Import a record of a repository as a draft',
    description:
      'Reads a record of InvenioRDM or Zenodo, Dataverse, OSF, figshare or Dryad, or a page with Signposting or schema.org JSON-LD. Every request is archived as a retrieval. Each file is compared with the checksum that the repository states, and is in the draft only if it has it. An import of the same record that did not end continues in its draft.',
    query: importQuery,
    body: jsonBody(importRequestSchema),
    responses: {
      200: { description: 'With `dry_run`: what would come', schema: plannedImportSchema },
      201: {
        description: 'With `wait`: the draft, and what became of each file',
        schema: recordImportSchema,
      },
      202: { description: 'The job that runs the import; its result is the same', schema: jobSchema },
    },
    problems: [
      'record_unreadable',
      'private_address',
      'drafts_full',
      'data_cap_reached',
      'disk_nearly_full',
      'shutting_down',
    ],
  }),
  listCitationEntries: route({
    method: 'POST',
    path: '/manage/citation-entries',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the entries of a file of citations',
    description: 'RIS, BibTeX, CSL-JSON or Zotero RDF, by the type of the body. Nothing is stored.',
    body: CITATION_BODY,
    responses: { 200: { description: 'The entries, in their order', schema: citationEntriesSchema } },
    problems: ['unsupported_media_type', 'body_too_large', 'invalid_citations'],
  }),
  fillDraftRecord: route({
    method: 'PATCH',
    path: '/manage/drafts/{id}/record-from',
    access: 'owner',
    tag: 'Manage',
    summary: 'Fill the record of a draft from a citation',
    description:
      'RIS, BibTeX, CSL-JSON or Zotero RDF, by the type of the body. Title, authors with ORCID, summary and keywords that the entry has replace those of the draft; its DOI is added to the related works.',
    query: recordFromQuery,
    body: CITATION_BODY,
    responses: { 200: { description: 'The draft', schema: draftSchema } },
    problems: [
      'not_found',
      'draft_published',
      'unsupported_media_type',
      'body_too_large',
      'invalid_citations',
      'several_citations',
    ],
  }),
};
