import { objectViewSchema, pageResourcesSchema, viewQuery } from '../../collection/view.ts';
import { route } from '../route.ts';

/** Archived objects as the interface shows them. */
export const viewRoutes = {
  readObjectView: route({
    method: 'GET',
    path: '/archive/{sha256}/view',
    access: 'read',
    tag: 'Objects',
    summary: 'Read what is needed to show an object: its kind, address, times and neighbouring versions',
    query: viewQuery,
    responses: { 200: { description: 'One retrieval of the object', schema: objectViewSchema } },
    problems: ['invalid_digest', 'not_found', 'copy_unreachable'],
  }),
  readArchivedPage: route({
    method: 'GET',
    path: '/archive/{sha256}/page',
    access: 'read',
    tag: 'Objects',
    summary: 'Show an archived page without scripts and without requests',
    description:
      'Scripts, forms, frames and event handlers are left out. Stylesheets, images and fonts are put into the page from the archive’s nearest captures. Links lead to `/view/{sha256}`, or nowhere if their address is not held. The page is derived: the object itself is the evidence.',
    query: viewQuery,
    responses: { 200: { description: 'The page', mediaTypes: ['text/html'] } },
    problems: ['invalid_digest', 'not_found', 'not_derivable', 'derivation_busy', 'copy_unreachable'],
  }),
  readPageResources: route({
    method: 'GET',
    path: '/archive/{sha256}/page/resources',
    access: 'read',
    tag: 'Objects',
    summary: 'List the captures that are put into an archived page, and what is missing',
    query: viewQuery,
    responses: { 200: { description: 'The page’s resources', schema: pageResourcesSchema } },
    problems: ['invalid_digest', 'not_found', 'not_derivable', 'derivation_busy', 'copy_unreachable'],
  }),
};
