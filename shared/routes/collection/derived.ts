import { foundTextSchema, objectTextSchema, searchQuery } from '../../collection/derived.ts';
import { pageOf } from '../../values/list.ts';
import { route } from '../route.ts';

/** Texts derived from archived objects, for reading and searching. */
export const derivedRoutes = {
  searchTexts: route({
    method: 'GET',
    path: '/api/search',
    access: 'read',
    tag: 'Objects',
    summary: 'Search the texts of all versions of the sources, and of the files of packs',
    description:
      'Searches the title and the text derived from each version of each source, captures included, and from the files ' +
      'of packs. Versions of one source are one result: the current version if it matches, else the newest that does. ' +
      'With `source`, each version is a result. `in` limits the search to `sources` or `packs`. A new version or pack ' +
      'can be found shortly after it was stored. Results are not ranked: sources come first, the most recently added ' +
      'one first, then files, newest first.',
    query: searchQuery,
    responses: {
      200: { description: 'A page of matching sources and files', schema: pageOf(foundTextSchema) },
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
    problems: ['invalid_digest', 'not_found', 'not_derivable', 'derivation_busy', 'copy_unreachable'],
  }),
};
