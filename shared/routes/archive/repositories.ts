import { z } from 'zod';
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
import {
  depositSchema,
  newDepositSchema,
  newRepositorySchema,
  packDepositSchema,
  repositorySchema,
} from '../../node/deposit.ts';
import { jobSchema } from '../../node/job.ts';
import { packIdSchema } from '../../values/digest.ts';
import { booleanParameter, listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, route } from '../route.ts';

const CITATION_BODY = { kind: 'stream' as const, mediaTypes: Object.keys(CITATION_MEDIA_TYPES) };

/** Records of repositories and reference managers as drafts. */
export const importRoutes = {
  importRecord: manageRoute({
    method: 'POST',
    path: '/manage/import',
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
  listCitationEntries: manageRoute({
    method: 'POST',
    path: '/manage/citation-entries',
    summary: 'List the entries of a file of citations',
    description: 'RIS, BibTeX, CSL-JSON or Zotero RDF, by the type of the body. Nothing is stored.',
    body: CITATION_BODY,
    responses: { 200: { description: 'The entries, in their order', schema: citationEntriesSchema } },
    problems: ['unsupported_media_type', 'body_too_large', 'invalid_citations'],
  }),
  fillDraftRecord: manageRoute({
    method: 'PATCH',
    path: '/manage/drafts/{id}/record-from',
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

/** Depositing packs in repositories. */
export const depositRoutes = {
  listRepositories: manageRoute({
    method: 'GET',
    path: '/manage/repositories',
    summary: 'List the repositories in which packs can be deposited',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of repositories, oldest first', schema: pageOf(repositorySchema) },
    },
  }),
  addRepository: manageRoute({
    method: 'POST',
    path: '/manage/repositories',
    summary: 'Add a repository: InvenioRDM (such as Zenodo) or Dataverse',
    description:
      'The token is kept in the data folder and never shown again. It is sent to this address only, and not over plain HTTP except to a private address. A repository with the same kind, address and community is the same one: it gets the new token.',
    body: jsonBody(newRepositorySchema),
    responses: { 201: { description: 'The repository', schema: repositorySchema } },
  }),
  removeRepository: manageRoute({
    method: 'DELETE',
    path: '/manage/repositories/{id}',
    summary: 'Forget a repository and its token; what was deposited stays there',
    responses: { 204: { description: 'Forgotten' } },
    problems: ['not_found'],
  }),
  listPackDeposits: route({
    method: 'GET',
    path: '/api/deposits',
    access: 'read',
    tag: 'Packs',
    summary: 'List where packs were published in repositories, with their DOIs',
    description: 'The records of the ledger entries `pack.deposited`.',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of deposits, newest first', schema: pageOf(packDepositSchema) },
    },
  }),
  listDeposits: manageRoute({
    method: 'GET',
    path: '/manage/deposits',
    summary: 'List the deposits',
    query: z.strictObject({ ...listQuery, pack: packIdSchema.optional() }),
    responses: { 200: { description: 'A page of deposits, newest first', schema: pageOf(depositSchema) } },
  }),
  deposit: manageRoute({
    method: 'POST',
    path: '/manage/deposits',
    summary: 'Deposit a pack in a repository, or go on with its deposit',
    description:
      'Sends the record of the pack (`pack.json`) and its files, and compares the checksums that the repository gives back. A pack has one deposit in each repository: a request for it again continues it where it failed, publishes its draft if `publish` is true, and finds out whether the draft was published meanwhile. With `wait=true` the response is sent when it has ended, also if it failed: then `error` says why.',
    query: z.strictObject({ wait: booleanParameter.optional() }),
    body: jsonBody(newDepositSchema),
    responses: {
      201: { description: 'The deposit', schema: depositSchema },
      202: { description: 'The job that deposits it', schema: jobSchema },
    },
    problems: ['unknown_pack', 'unknown_target', 'withheld', 'released', 'archive_read_only'],
  }),
};
