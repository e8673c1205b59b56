import { z } from 'zod';
import { packIdSchema } from '../values/digest.ts';
import { writtenDoi } from '../values/doi.ts';
import { namedObject } from '../values/list.ts';
import { httpUrlSchema, instantSchema } from '../values/text.ts';

/** Depositing packs in repositories: InvenioRDM (such as Zenodo) and Dataverse. */
export const REPOSITORY_KINDS = ['invenio', 'dataverse'] as const;
export type RepositoryKind = (typeof REPOSITORY_KINDS)[number];

const repositoryIdSchema = z.string().regex(/^re_[0-9a-f]{20}$/, 'A repository id is re_ and 20 hex digits.');
const depositIdSchema = z.string().regex(/^dp_[0-9a-f]{20}$/, 'A deposit id is dp_ and 20 hex digits.');

const kindSchema = z.enum(REPOSITORY_KINDS);
const communitySchema = z
  .string()
  .regex(/^[\w.:-]{1,200}$/, 'Letters, digits, and - _ . : only.')
  .meta({
    description:
      'The community of an InvenioRDM repository to which deposits are submitted (its address name or id), or the alias of the Dataverse collection that they go into. Without one: no community, or the root collection.',
  });

export const newRepositorySchema = namedObject('NewRepository', {
  kind: kindSchema,
  url: httpUrlSchema.refine((value) => {
    const url = URL.parse(value);
    return url === null || `${url.search}${url.hash}${url.username}${url.password}` === '';
  }, 'The address of a repository has no user name, no query and no fragment.'),
  /** Sent in a header, so it has no spaces and no control characters. */
  token: z.string().regex(/^[\x21-\x7e]{1,2000}$/, 'A token has no spaces.'),
  community: communitySchema.optional(),
});
export type NewRepository = z.output<typeof newRepositorySchema>;

export const repositorySchema = namedObject('Repository', {
  id: repositoryIdSchema,
  kind: kindSchema,
  /** Without a slash at its end. */
  url: z.string(),
  community: communitySchema.nullable(),
  /** Whether its token is kept. The token is never shown. */
  has_token: z.boolean(),
  added_at: instantSchema,
});
export type Repository = z.output<typeof repositorySchema>;

export const newDepositSchema = namedObject('NewDeposit', {
  pack: packIdSchema,
  repository: repositoryIdSchema,
  /** If false, the deposit stays a draft in the repository. */
  publish: z.boolean().default(false),
});
export type NewDeposit = z.output<typeof newDepositSchema>;

export const depositSchema = namedObject('Deposit', {
  id: depositIdSchema,
  pack: packIdSchema,
  repository: repositoryIdSchema,
  repository_kind: kindSchema,
  repository_url: z.string(),
  publish: z.boolean(),
  state: z.enum(['sending', 'draft', 'published', 'failed']).meta({
    description: '`sending` while it runs, also before a restart of the node. A failed deposit can go on.',
  }),
  /** The page of the deposit; null until the repository has named one. */
  url: z.string().nullable(),
  doi: z.string().nullable().meta({
    description: 'The DOI. It is only reserved until the state is `published`: nobody can resolve it yet.',
  }),
  /** Whether it waits for the review of its community, and is published by it. */
  in_review: z.boolean(),
  /** The number of files, `pack.json` included, and how many of them the repository gave back a right checksum for. */
  files: z.int().min(0),
  compared: z.int().min(0),
  /** Why it failed; null if it did not. */
  error: z.string().nullable(),
  created_at: instantSchema,
  updated_at: instantSchema,
  published_at: instantSchema.nullable(),
});
export type Deposit = z.output<typeof depositSchema>;

const publishedDoiSchema = z
  .string()
  .refine((value) => writtenDoi(value) === value, 'This is not a DOI.')
  .nullable();

/** What a ledger entry `pack.deposited` covers: where a pack was published, and since when the node knows of it. */
export const recordedDepositSchema = z.strictObject({
  pack: packIdSchema,
  doi: publishedDoiSchema,
  url: httpUrlSchema,
  repository: kindSchema,
  at: instantSchema,
});
export type RecordedDeposit = z.output<typeof recordedDepositSchema>;

const peerOfDepositSchema = z
  .strictObject({ name: z.string(), key: z.string() })
  .optional()
  .meta({ description: 'The peer whose ledger says so; left out if this node deposited it.' });

/** A published deposit, as the list of all shows it. */
export const packDepositSchema = namedObject('PackDeposit', {
  ledger_entry: z.int().min(1),
  ...recordedDepositSchema.shape,
  peer: peerOfDepositSchema,
});
export type PackDeposit = z.output<typeof packDepositSchema>;

/** A published deposit, as every reader of a pack sees it. */
export const publishedDepositSchema = z.strictObject({
  doi: publishedDoiSchema,
  url: httpUrlSchema,
  published_at: instantSchema,
  ledger_entry: z.int().min(1),
  peer: peerOfDepositSchema,
});
export type PublishedDeposit = z.output<typeof publishedDepositSchema>;
