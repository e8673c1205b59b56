import { z } from 'zod';
import {
  CITATION_FORMATS,
  citationQuery,
  citationSchema,
  DESCRIPTOR_FORMATS,
  LINKSET_FORMATS,
  linksetQuery,
  lookupQuery,
  lookupSchema,
  WEB_FORMATS,
} from '../../archive/citation.ts';
import { commentSchema, commentsQuery, newCommentSchema } from '../../archive/comment.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route, UNREADABLE } from '../route.ts';

/** What packs and studies have in common: comments and citations; and the blobs of packs. */
export const itemRoutes = {
  listComments: route({
    method: 'GET',
    path: '/api/items/{id}/comments',
    access: 'read',
    tag: 'Comments',
    summary: 'List the comments of a pack or a study',
    query: commentsQuery,
    responses: { 200: { description: 'A page of comments, oldest first', schema: pageOf(commentSchema) } },
    problems: ['not_found'],
  }),
  addComment: route({
    method: 'POST',
    path: '/api/items/{id}/comments',
    access: 'contribute',
    tag: 'Comments',
    summary: 'Comment on a pack or a study',
    body: jsonBody(newCommentSchema),
    responses: { 201: { description: 'The comment', schema: commentSchema } },
    problems: ['not_found', 'unknown_comment'],
  }),
  readCitation: route({
    method: 'GET',
    path: '/api/items/{id}/cite',
    access: 'read',
    tag: 'Citations',
    summary: 'Read the citation of a pack, a study, an event, an object, a page capture or a finding',
    description:
      'The id is that of the item; of an object it is its digest. Choose one format with `format` or with `Accept`. The default is JSON with all text formats. A title or a quotation from bytes that the reader may not read is left out.',
    query: citationQuery,
    responses: {
      200: {
        description: 'The citation in all text formats, or in the requested one',
        schema: citationSchema,
        mediaTypes: [
          ...Object.values(CITATION_FORMATS),
          ...Object.values(WEB_FORMATS),
          ...Object.values(DESCRIPTOR_FORMATS),
        ],
      },
    },
    problems: [
      'not_found',
      'invalid_format',
      'not_acceptable',
      'finding_sealed',
      'derivation_busy',
      'copy_unreachable',
    ],
  }),
  readLinkset: route({
    method: 'GET',
    path: '/api/items/{id}/linkset',
    access: 'read',
    tag: 'Citations',
    summary: 'Read the typed links of a pack or a study',
    description:
      'All links of the Signposting profile FAIR, as a linkset (RFC 9264). Choose the format with `format` or with `Accept`. The default is `application/linkset+json`.',
    query: linksetQuery,
    responses: { 200: { description: 'The linkset', mediaTypes: Object.values(LINKSET_FORMATS) } },
    problems: ['not_found', 'invalid_format', 'not_acceptable', 'copy_unreachable'],
  }),
  lookUpDigests: route({
    method: 'GET',
    path: '/api/lookup',
    access: 'read',
    tag: 'Blobs',
    summary: 'Find out which of some digests the archive has, and where',
    description:
      'For verifying many files at once. Says what the archive recorded; the stored bytes are not read again.',
    query: lookupQuery,
    responses: { 200: { description: 'The digests that the archive has', schema: lookupSchema } },
  }),
  readBlob: route({
    method: 'GET',
    path: '/api/blobs/{sha256}',
    access: 'read',
    tag: 'Blobs',
    summary: 'Read a blob by its digest',
    responses: {
      200: { description: 'The bytes', mediaTypes: ['application/octet-stream'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['application/octet-stream'] },
      304: { description: 'Not modified' },
    },
    problems: ['invalid_digest', 'not_found', ...UNREADABLE, 'range_not_satisfiable', 'copy_unreachable'],
  }),
};

/** The arguments of harvesters, in the query or as a form. Invalid combinations are reported in the XML. */
const harvestQuery = z.strictObject({
  verb: z.string().optional(),
  identifier: z.string().optional(),
  metadataPrefix: z.string().optional(),
  from: z.string().optional(),
  until: z.string().optional(),
  set: z.string().optional(),
  resumptionToken: z.string().optional(),
});

const shared = {
  path: '/oai',
  access: 'read',
  tag: 'Harvesting',
  description:
    'Packs in `oai_dc` and `oai_datacite`, in sets by licence and subject. Errors in a request are reported in the XML, with status 200. While the node is not shared, the answer is 404.',
  responses: { 200: { description: 'The answer of OAI-PMH', mediaTypes: ['text/xml'] } },
} as const;

/** Harvesting of packs. */
export const harvestingRoutes = {
  harvest: route({
    ...shared,
    method: 'GET',
    summary: 'Harvest the packs by OAI-PMH 2.0',
    query: harvestQuery,
    readsOwnQuery: true,
    problems: ['not_found'],
  }),
  harvestByForm: route({
    ...shared,
    method: 'POST',
    summary: 'Harvest the packs by OAI-PMH 2.0, the arguments sent as a form',
    body: { kind: 'stream', mediaTypes: ['application/x-www-form-urlencoded'] },
    problems: ['not_found', 'unsupported_media_type', 'body_too_large'],
  }),
  readRobotsTxt: route({
    method: 'GET',
    path: '/robots.txt',
    access: 'open',
    tag: 'Harvesting',
    summary: 'Read the rules for crawlers',
    description: 'While the node is not shared, nothing is allowed.',
    responses: { 200: { description: 'The rules (RFC 9309)', mediaTypes: ['text/plain'] } },
  }),
  readSitemapIndex: route({
    method: 'GET',
    path: '/sitemap.xml',
    access: 'read',
    tag: 'Harvesting',
    summary: 'List the sitemaps',
    description: 'While the node is not shared, the answer is 404.',
    responses: { 200: { description: 'A sitemap index', mediaTypes: ['application/xml'] } },
    problems: ['not_found'],
  }),
  readSitemap: route({
    method: 'GET',
    path: '/sitemap/{name}',
    access: 'read',
    tag: 'Harvesting',
    summary: 'Read a sitemap: the pages of up to 50,000 packs or studies',
    description: 'While the node is not shared, the answer is 404.',
    responses: { 200: { description: 'The sitemap', mediaTypes: ['application/xml'] } },
    problems: ['not_found'],
  }),
};
