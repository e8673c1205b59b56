import { foundTextSchema, objectTextSchema, searchQuery } from '../collection/derived.ts';
import { pageOf } from '../values/list.ts';
import { route } from './route.ts';

/** Texts derived from archived objects, for reading and searching. */
export const derivedRoutes = {
  searchTexts: route({
    method: 'GET',
    path: '/api/search',
    access: 'read',
    tag: 'Objects',
    summary: 'Search the current texts of the watched sources',
    description:
      'Searches the title and the text derived from the current version of each watched source. A new version can be ' +
      'found shortly after it was retrieved. Results are not ranked: the most recently added source comes first.',
    query: searchQuery,
    responses: {
      200: { description: 'A page of matching sources', schema: pageOf(foundTextSchema) },
    },
    problems: [],
  }),
  readObjectText: route({
    method: 'GET',
    path: '/archive/{sha256}/text',
    access: 'read',
    tag: 'Objects',
    summary: 'Read the text of an object',
    description:
      'The text is extracted at the first request and stored with the version of the tool that made it. It is derived ' +
      'data: the object itself is the evidence.',
    responses: {
      200: { description: 'The text, its links, and the tool that made it', schema: objectTextSchema },
    },
    problems: ['invalid_digest', 'not_found', 'not_derivable', 'derivation_busy'],
  }),
};
