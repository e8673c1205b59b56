import { z } from 'zod';
import { writtenDoi } from '../values/doi.ts';
import { booleanParameter, namedObject } from '../values/list.ts';
import { publicUrlSchema, text } from '../values/text.ts';
import { draftIdSchema } from './draft.ts';

/** The record to import: its DOI, or the address of its page or of its entry in the interface of the repository. */
export const importRequestSchema = z
  .strictObject({
    doi: text(1, 1100)
      .refine((value) => writtenDoi(value) !== undefined, 'Enter a DOI, such as 10.5281/zenodo.1234567.')
      .optional(),
    url: publicUrlSchema.optional(),
  })
  .refine(({ doi, url }) => (doi === undefined) !== (url === undefined), {
    message: 'Give either a DOI or an address.',
    path: ['doi'],
  })
  .meta({ id: 'ImportRequest' });
export type ImportRequest = z.output<typeof importRequestSchema>;

export const importQuery = z.strictObject({
  wait: booleanParameter.optional(),
  dry_run: booleanParameter
    .optional()
    .meta({ description: 'Lists what would come. Only the descriptions of the record are fetched.' }),
});

/** `held`: in the draft, and as the repository states it. The others are not in the draft. */
export const IMPORTED_FILE_STATES = ['held', 'mismatch', 'too_large', 'failed'] as const;
export type ImportedFileState = (typeof IMPORTED_FILE_STATES)[number];

const importedFile = {
  /** The path in the draft. It differs from the name in the repository if no pack can have that. */
  path: z.string(),
  /** The bytes that were received; what the repository states of a file that was not. Null if it states none. */
  bytes: z.int().min(0).nullable(),
  /** As the repository states it: `<algorithm>:<hex>`. Null if it states none. */
  checksum: z.string().nullable(),
};

const recordImport = {
  title: z.string(),
  doi: z.string().nullable(),
  /** The page of the record. */
  url: z.string(),
  /** One sentence each. */
  warnings: z.array(z.string()),
};

export const recordImportSchema = namedObject('RecordImport', {
  draft: draftIdSchema,
  ...recordImport,
  files: z.array(z.strictObject({ ...importedFile, state: z.enum(IMPORTED_FILE_STATES) })),
});
export type RecordImport = z.output<typeof recordImportSchema>;

/** What an import would bring: `planned` files would be fetched. */
export const plannedImportSchema = namedObject('PlannedImport', {
  draft: z.null(),
  ...recordImport,
  /** As the repository names it; null if it names none. */
  license: z.string().nullable(),
  files: z.array(z.strictObject({ ...importedFile, state: z.enum(['planned', 'too_large', 'failed']) })),
});
export type PlannedImport = z.output<typeof plannedImportSchema>;

/** The formats from which a draft's record can be filled. */
export const CITATION_FORMATS = ['ris', 'bibtex', 'csl', 'zotero'] as const;
export type CitationFormat = (typeof CITATION_FORMATS)[number];

export const CITATION_MEDIA_TYPES: Readonly<Record<string, CitationFormat>> = {
  'application/x-research-info-systems': 'ris',
  'text/x-research-info-systems': 'ris',
  'application/ris': 'ris',
  'application/x-bibtex': 'bibtex',
  'text/x-bibtex': 'bibtex',
  'application/bibtex': 'bibtex',
  'text/bibtex': 'bibtex',
  'application/vnd.citationstyles.csl+json': 'csl',
  'application/csl+json': 'csl',
  'application/json': 'csl',
  'application/rdf+xml': 'zotero',
  'application/xml': 'zotero',
  'text/xml': 'zotero',
};

/** The largest file of citations, and the most entries that are read from one. */
export const MAX_CITATION_FILE_BYTES = 8_388_608;
export const MAX_CITATION_ENTRIES = 5_000;

export const recordFromQuery = z.strictObject({
  entry: z
    .string()
    .regex(/^\d{1,6}$/, 'Give the number of an entry, from 0 on.')
    .transform(Number)
    .optional()
    .meta({
      type: 'integer',
      description: 'The entry of the file, counted from 0; needed if it has several',
    }),
});

export const citationEntrySchema = namedObject('CitationEntry', {
  entry: z.int().min(0),
  title: z.string(),
  authors: z.string(),
  year: z.string().nullable(),
  doi: z.string().nullable(),
});
export type CitationEntry = z.output<typeof citationEntrySchema>;

/** What a file of citations holds. Nothing is changed by reading it. */
export const citationEntriesSchema = z
  .strictObject({ entries: z.array(citationEntrySchema), warnings: z.array(z.string()) })
  .meta({ id: 'CitationEntries' });
export type CitationEntries = z.output<typeof citationEntriesSchema>;
