import { z } from 'zod';
import { MAX_PACK_FILES, PACK_FORMAT, TERMS_VERSION } from '../limits.ts';
import { publishedDepositSchema } from '../node/deposit.ts';
import { releasedReasonSchema, withheldReasonSchema } from '../node/withheld.ts';
import { digestSchema, packIdSchema, studyIdSchema } from '../values/digest.ts';
import { isDigest } from '../values/digestPattern.ts';
import { doiUrl, writtenDoi } from '../values/doi.ts';
import { booleanParameter, listQuery, namedObject, searchParameter } from '../values/list.ts';
import { httpUrlSchema, instantSchema, isHttpUrl, text } from '../values/text.ts';
import { compareByUtf8, filePathFault, newPathFault, pathConflicts } from './filePath.ts';
import { nodePathSchema } from './study.ts';
import {
  flagReasonSchema,
  licenseSchema,
  outcomeSchema,
  relationSchema,
  tagSchema,
  verdictSchema,
} from './vocabulary.ts';

/** Checks an ORCID iD, including its check digit (ISO 7064 MOD 11-2). */
export function isOrcid(value: string): boolean {
  if (!/^\d{4}-\d{4}-\d{4}-\d{3}[\dX]$/.test(value)) return false;
  const digits = value.replaceAll('-', '');
  let total = 0;
  for (const digit of digits.slice(0, 15)) total = (total + Number(digit)) * 2;
  const remainder = (12 - (total % 11)) % 11;
  return digits.at(-1) === (remainder === 10 ? 'X' : String(remainder));
}

const orcidSchema = z
  .string()
  .refine(isOrcid, 'An ORCID iD has four groups of four digits with a valid check digit.')
  .meta({ pattern: '^\\d{4}-\\d{4}-\\d{4}-\\d{3}[\\dX]$' });

const authorSchema = namedObject('Author', {
  name: text(1, 200),
  orcid: orcidSchema.nullable().default(null),
  affiliation: text(0, 300).default(''),
});

const methodSchema = z
  .strictObject({
    text: text(0, 200_000).default(''),
    link: httpUrlSchema.nullable().default(null),
    complete: z.boolean(),
  })
  .refine((method) => method.text !== '' || method.link !== null, 'A method needs a text, a link, or both.')
  .meta({ id: 'Method' });

export type ResultValue = number | string | boolean | null;
const resultValueSchema = z.union([z.number(), text(0, 1_000), z.boolean(), z.null()]);
const resultNameSchema = text(1, 100);

/** Checked by hand to preserve every name, including `__proto__`. zod would build a new object. */
export const resultsSchema = z
  .custom<Record<string, ResultValue>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    {
      error: 'Results must be an object of names and values.',
      abort: true,
    },
  )
  .superRefine((results, context) => {
    const names = Object.keys(results);
    if (names.length > 200) {
      context.addIssue({ code: 'custom', message: 'At most 200 results.' });
      return;
    }
    for (const name of names) {
      const issues = [
        ...(resultNameSchema.safeParse(name).error?.issues ?? []),
        ...(resultValueSchema.safeParse(results[name]).success
          ? []
          : [
              { message: 'A result must be a number, a text of up to 1000 characters, true, false or null.' },
            ]),
      ];
      for (const { message } of issues) context.addIssue({ code: 'custom', message, path: [name] });
    }
  })
  .meta({
    type: 'object',
    maxProperties: 200,
    additionalProperties: { type: ['number', 'string', 'boolean', 'null'] },
  });

const mediaTypeSchema = z
  .string()
  .max(255, 'At most 255 characters.')
  .regex(
    /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;[ \t]*[A-Za-z0-9!#$&^_.+-]+=(?:[A-Za-z0-9!#$&^_.+-]+|"[^"\\\r\n]*"))*$/,
    'Enter a media type, such as text/csv.',
  );

function pathSchema(faultOf: (path: string) => string | undefined) {
  return z
    .string()
    .superRefine((path, context) => {
      const fault = faultOf(path);
      if (fault) context.addIssue({ code: 'custom', message: fault });
    })
    .meta({ minLength: 1, maxLength: 1024 });
}

/** The path of a file in a pack. */
export const filePathSchema = pathSchema(filePathFault);

/** The path that somebody gives a file now. */
export const newFilePathSchema = pathSchema(newPathFault);

const packFileSchema = namedObject('PackFile', {
  path: filePathSchema,
  sha256: digestSchema,
  bytes: z.int().min(0),
  media_type: mediaTypeSchema.default('application/octet-stream'),
});

const packFilesSchema = z
  .array(packFileSchema)
  .max(MAX_PACK_FILES, `At most ${MAX_PACK_FILES} files.`)
  .superRefine((files, context) => {
    for (const { index, kind } of pathConflicts(files.map(({ path }) => path))) {
      const message =
        kind === 'same'
          ? 'Another file has this path, or a path that differs only in case.'
          : 'Another file uses this name as a folder.';
      context.addIssue({ code: 'custom', message, path: [index, 'path'] });
    }
  })
  .transform((files) => files.toSorted((left, right) => compareByUtf8(left.path, right.path)));

/** Accepts a DOI, an http(s) URL, or a SHA-256 digest with or without the prefix `sha256:`. */
export function isRelatedIdentifier(value: string): boolean {
  return parseRelatedIdentifier(value).kind !== 'other' || isHttpUrl(value);
}

const relatedSchema = z.strictObject({
  relation: relationSchema,
  identifier: z
    .string()
    .max(2048, 'At most 2048 characters.')
    .refine(isRelatedIdentifier, 'Enter a DOI, an http(s) URL or a SHA-256 digest.'),
});

const replicatesSchema = z.strictObject({
  pack: packIdSchema,
  verdict: verdictSchema,
  note: text(0, 10_000).default(''),
});

const recordFields = {
  pack_format: z.literal(PACK_FORMAT, `This node reads pack format ${PACK_FORMAT}.`),
  terms_version: z.literal(TERMS_VERSION, `Accept the current terms (${TERMS_VERSION}) to publish.`),
  title: text(1, 300),
  summary: text(0, 20_000).default(''),
  authors: z.array(authorSchema).min(1, 'At least one author is required.').max(100, 'At most 100 authors.'),
  license: licenseSchema,
  outcome: outcomeSchema,
  method: methodSchema.nullable().default(null),
  results: resultsSchema.default(() => ({})),
  keywords: z.array(text(1, 100)).max(50, 'At most 50 keywords.').default([]),
  node: nodePathSchema.nullable().default(null),
  study: studyIdSchema.nullable().default(null),
  replicates: replicatesSchema.nullable().default(null),
  supersedes: packIdSchema.nullable().default(null),
  related: z.array(relatedSchema).max(100, 'At most 100 related works.').default([]),
};

/** The complete record of a pack, with defaults for omitted fields. The fingerprint is computed from it. */
export const packRecordSchema = z
  .strictObject({ ...recordFields, files: packFilesSchema.default([]) })
  .meta({ id: 'PackRecord' });

/** The record of a multipart upload. If `files` is omitted, it is derived from the parts. */
export const packUploadRecordSchema = z
  .strictObject({ ...recordFields, files: packFilesSchema.optional() })
  .meta({ id: 'PackUploadRecord' });

export type PackRecord = z.output<typeof packRecordSchema>;
export type PackRecordInput = z.input<typeof packRecordSchema>;
export type PackFile = z.output<typeof packFileSchema>;

/** The fields that the server adds to a record. Exactly these are excluded from the fingerprint. */
export const DERIVED_FIELDS = [
  'id',
  'digest',
  'tag',
  'replications',
  'evidence',
  'flags',
  'original_had_method',
  'ledger_entry',
] as const;

const markedFiles = <Reason extends z.ZodType>(reason: Reason) =>
  z.array(z.strictObject({ sha256: digestSchema, reason, since: instantSchema })).optional();

export const packSchema = namedObject('Pack', {
  ...packRecordSchema.shape,
  files: z.array(packFileSchema),
  id: packIdSchema,
  digest: digestSchema,
  tag: tagSchema.meta({ description: '`replicable` if the record declares its method complete.' }),
  replications: z.array(
    z.strictObject({ pack: packIdSchema, verdict: verdictSchema, received_at: instantSchema }),
  ),
  evidence: z.strictObject({
    received_at: instantSchema,
    bytes: z.int(),
    files: z.int(),
    reproduced: z.int(),
    partial: z.int(),
    failed: z.int(),
    version: z.int().min(1).meta({
      description: '1, or one more than the version of the pack that this pack supersedes.',
    }),
    superseded_by: packIdSchema
      .nullable()
      .meta({ description: 'The newest pack whose `supersedes` is this pack.' }),
    withheld: markedFiles(withheldReasonSchema).meta({
      description:
        'The files whose bytes visitors may not read; for a set, those of its parts too. Only in a single pack, and if there are any.',
    }),
    released: markedFiles(releasedReasonSchema).meta({
      description:
        'The files whose bytes were given up; for a set, those of its parts too. Only in a single pack, and if there are any.',
    }),
    deposits: z.array(publishedDepositSchema).optional().meta({
      description:
        'Where the pack was published in repositories, with its DOIs. Only in a single pack, and if there are any.',
    }),
    set: z
      .strictObject({ files: z.int().min(1), packs: z.int().min(0), bytes: z.int().min(0) })
      .optional()
      .meta({ description: 'The size of the set of which this pack is the manifest.' }),
    part_of: packIdSchema
      .optional()
      .meta({ description: 'The newest set that has this pack as a part. Only in a single pack.' }),
  }),
  flags: z.array(z.strictObject({ reason: flagReasonSchema, note: z.string(), at: instantSchema })),
  original_had_method: z.boolean().nullable().meta({
    description:
      'For a replication: whether the replicated pack was replicable at that time. Otherwise null.',
  }),
  ledger_entry: z.int().meta({ description: 'The number of the ledger entry that recorded it.' }),
});
export type Pack = z.output<typeof packSchema>;

/** Returns the tag of a record: `replicable` if it declares its method complete. */
export function tagOf(record: Pick<PackRecord, 'method'>): z.output<typeof tagSchema> {
  return record.method?.complete ? 'replicable' : 'report-only';
}

/** Returns the record of a pack: the pack without the fields that the server added. */
export function recordOf(pack: Pack): PackRecord {
  const derived: ReadonlySet<string> = new Set(DERIVED_FIELDS);
  return Object.fromEntries(Object.entries(pack).filter(([field]) => !derived.has(field))) as PackRecord;
}

export const packsQuery = z.strictObject({
  ...listQuery,
  q: searchParameter.optional(),
  node: nodePathSchema.optional().meta({ description: 'A node; packs of its subtree are included' }),
  study: studyIdSchema.optional(),
  outcome: outcomeSchema.optional(),
  license: licenseSchema.optional(),
  tag: tagSchema.optional(),
  verdict: verdictSchema.optional(),
  author: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'A full name, one word of it, or an ORCID iD; case and accents are ignored' })
    .optional(),
  keyword: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: 'A full keyword; case and accents are ignored' })
    .optional(),
  flagged: booleanParameter.optional(),
  replicates: packIdSchema.optional(),
  parts: booleanParameter.optional().meta({ description: 'Whether packs that are parts of sets are listed' }),
  sort: z
    .enum(['received', '-received', 'title', '-title', 'replications', '-replications'])
    .default('-received'),
});
export type PacksQuery = z.output<typeof packsQuery>;

export const packUploadQuery = z.strictObject({
  piece_of: digestSchema.optional().meta({
    description:
      'The SHA-256 of the file of a set that the one file of this pack is a piece of. They are withheld together from then on, and the piece of a file that was released is refused. For the owner only',
  }),
});

export const newFlagSchema = z
  .strictObject({ reason: flagReasonSchema, note: text(0, 10_000).default('') })
  .refine((flag) => flag.reason !== 'other' || flag.note.trim() !== '', {
    path: ['note'],
    message: 'Explain the problem in the note.',
  })
  .meta({ id: 'NewFlag' });
export type NewFlag = z.output<typeof newFlagSchema>;

export const verificationSchema = namedObject('PackVerification', {
  id: packIdSchema,
  ok: z.boolean(),
  checked_at: instantSchema,
  checks: z.array(
    z.strictObject({
      check: z.enum(['fingerprint', 'blob', 'ledger']),
      ok: z.boolean(),
      expected: z.string(),
      actual: z.string().nullable(),
      /** The bytes of this file were given up, so there is nothing to hash. Absent otherwise. */
      released: z.literal(true).optional(),
      path: z.string().optional(),
      /** The part of a set that the check is about. Absent for the pack itself, and for the files of a set. */
      pack: packIdSchema.optional(),
    }),
  ),
});
export type PackVerification = z.output<typeof verificationSchema>;

/** How an identifier of related work names it. */
type RelatedIdentifier =
  | { kind: 'doi'; doi: string }
  | { kind: 'digest'; digest: string }
  | { kind: 'other' };

/**
 * Recognises a DOI (`10.…`, `doi:10.…` or the URL of a DOI resolver) and a SHA-256 digest with or without the prefix
 * `sha256:`.
 */
export function parseRelatedIdentifier(identifier: string): RelatedIdentifier {
  const doi = writtenDoi(identifier);
  if (doi !== undefined) return { kind: 'doi', doi };
  const digest = identifier.replace(/^sha256:/, '');
  return isDigest(digest) ? { kind: 'digest', digest } : { kind: 'other' };
}

/** Returns the URI of a DOI, a URL or a digest. */
export function uriOfIdentifier(identifier: string): string {
  const parsed = parseRelatedIdentifier(identifier);
  switch (parsed.kind) {
    case 'doi':
      return doiUrl(parsed.doi);
    case 'digest':
      return `urn:sha256:${parsed.digest}`;
    case 'other':
      return URL.parse(identifier)?.href ?? identifier;
  }
}
