import { z } from 'zod';
import { route } from '../route.ts';

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
    problems: [],
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
