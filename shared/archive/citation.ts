import { z } from 'zod';
import { viewQuery } from '../collection/view.ts';
import { digestSchema, packIdSchema, sourceIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';

/** The citation formats by their value of `format`, with their media types. */
export const CITATION_FORMATS = {
  bibtex: 'application/x-bibtex',
  ris: 'application/x-research-info-systems',
  'csl-json': 'application/vnd.citationstyles.csl+json',
  apa: 'text/x-bibliography',
  datacite: 'application/vnd.datacite.datacite+json',
} as const;
export type CitationFormat = keyof typeof CITATION_FORMATS;

/**
 * The formats that only what was on the web has, by their value of `format`, with their media types. They must be asked
 * for by name: a browser that accepts `text/html` wants no link.
 */
export const WEB_FORMATS = { pwid: 'text/plain', robust_link: 'text/html' } as const;
export type WebFormat = keyof typeof WEB_FORMATS;

/** What describes a pack of tables to programs that read its rows, by the words of `format`, with media types. */
export const DESCRIPTOR_FORMATS = {
  croissant: 'application/ld+json',
  frictionless: 'application/vnd.datapackage+json',
} as const;
export type DescriptorFormat = keyof typeof DESCRIPTOR_FORMATS;

const cslNameSchema = z.union([
  z.strictObject({ literal: z.string() }),
  z.strictObject({ family: z.string(), given: z.string(), suffix: z.string().optional() }),
]);
export type CslName = z.output<typeof cslNameSchema>;

const cslDateSchema = z.strictObject({ 'date-parts': z.tuple([z.tuple([z.int(), z.int(), z.int()])]) });

/** An item of CSL-JSON (https://docs.citationstyles.org), with the fields that packs, studies and observations have. */
const cslItemSchema = namedObject('CslItem', {
  id: z.string(),
  type: z.enum(['dataset', 'document', 'webpage']),
  title: z.string(),
  author: z.array(cslNameSchema),
  /** Only of a pack or a study: when a page was published is not known. */
  issued: cslDateSchema.optional(),
  /** Only of an observation: the day of its retrieval. */
  accessed: cslDateSchema.optional(),
  publisher: z.string().optional(),
  /** The DOI of a published deposit of a pack. */
  DOI: z.string().optional(),
  /** The page of a pack or a study; missing if the node has no address that others can open. Else the address on the web. */
  URL: z.string().optional(),
  /** The site, the archive that holds the version, and where: its URL, or the URN of its bytes. */
  'container-title': z.string().optional(),
  archive: z.string().optional(),
  archive_location: z.string().optional(),
  genre: z.string().optional(),
  version: z.string().optional(),
  abstract: z.string().optional(),
  keyword: z.string().optional(),
  note: z.string().optional(),
});
export type CslItem = z.output<typeof cslItemSchema>;

export const citationSchema = namedObject('Citation', {
  id: z.string(),
  /** The URL of the item's page on this node, with the host of the request. The other fields have the public address. */
  url: z.string(),
  /** The fingerprint of a pack, or the digest of the observed version; null if there is neither. */
  digest: digestSchema.nullable(),
  csl: cslItemSchema,
  apa: z.string(),
  bibtex: z.string(),
  ris: z.string(),
  pwid: z.string().optional().meta({
    description: 'The PWID of an observed version (a URN of the namespace `pwid`).',
  }),
  robust_link: z.string().optional().meta({
    description: 'The Robust Link of an observed version, as HTML.',
  }),
});
export type Citation = z.output<typeof citationSchema>;

export const citationQuery = z.strictObject({
  format: z
    .string()
    .optional()
    .meta({
      enum: [
        ...Object.keys(CITATION_FORMATS),
        ...Object.keys(WEB_FORMATS),
        ...Object.keys(DESCRIPTOR_FORMATS),
      ],
      description:
        'One format. Overrides `Accept`. `pwid` and `robust_link` name what was on the web; `croissant` and `frictionless` describe packs with a table (CSV or TSV).',
    }),
  /** Of an object: as which of its retrievals it is cited. */
  ...viewQuery.shape,
});

/** The media types of a linkset (RFC 9264) by their value of `format`. */
export const LINKSET_FORMATS = {
  json: 'application/linkset+json',
  text: 'application/linkset',
} as const;
export type LinksetFormat = keyof typeof LINKSET_FORMATS;

export const linksetQuery = z.strictObject({
  format: z
    .string()
    .optional()
    .meta({ enum: Object.keys(LINKSET_FORMATS), description: 'One format. Overrides `Accept`.' }),
});

/** Digests in one look-up, so that the URL stays within the limits of servers. */
export const MAX_LOOKUP_DIGESTS = 100;

export const lookupQuery = z.strictObject({
  sha256: z
    .string()
    .max(MAX_LOOKUP_DIGESTS * 65)
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(digestSchema).max(MAX_LOOKUP_DIGESTS))
    .meta({ type: 'string', description: `At most ${MAX_LOOKUP_DIGESTS} digests, separated by commas.` }),
});

/** Where the archive has some bytes: the newest pack with them, and the source that first brought them. */
const foundDigestSchema = z.strictObject({
  sha256: digestSchema,
  bytes: z.int(),
  pack: z.strictObject({ id: packIdSchema, path: z.string() }).nullable(),
  source: z.strictObject({ id: sourceIdSchema, url: z.string() }).nullable(),
});
export type FoundDigest = z.output<typeof foundDigestSchema>;

export const lookupSchema = namedObject('Lookup', {
  /** Only those that the archive has. */
  items: z.array(foundDigestSchema),
});
