import { z } from 'zod';
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
import { jsonBody, route } from '../route.ts';

/** Depositing packs in repositories. */
export const depositRoutes = {
  listRepositories: route({
    method: 'GET',
    path: '/manage/repositories',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the repositories in which packs can be deposited',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of repositories, oldest first', schema: pageOf(repositorySchema) },
    },
    problems: [],
  }),
  addRepository: route({
    method: 'POST',
    path: '/manage/repositories',
    access: 'owner',
    tag: 'Manage',
    summary: 'Add a repository: InvenioRDM (such as Zenodo) or Dataverse',
    description:
      'The token is kept in the data folder and never shown again. It is sent to this address only, and not over plain HTTP except to a private address. A repository with the same kind, address and community is the same one: it gets the new token.',
    body: jsonBody(newRepositorySchema),
    responses: { 201: { description: 'The repository', schema: repositorySchema } },
    problems: [],
  }),
  removeRepository: route({
    method: 'DELETE',
    path: '/manage/repositories/{id}',
    access: 'owner',
    tag: 'Manage',
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
    problems: [],
  }),
  listDeposits: route({
    method: 'GET',
    path: '/manage/deposits',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the deposits',
    query: z.strictObject({ ...listQuery, pack: packIdSchema.optional() }),
    responses: { 200: { description: 'A page of deposits, newest first', schema: pageOf(depositSchema) } },
    problems: [],
  }),
  deposit: route({
    method: 'POST',
    path: '/manage/deposits',
    access: 'owner',
    tag: 'Manage',
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
