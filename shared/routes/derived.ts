import { foundTextSchema, objectTextSchema, searchQuery } from '../derived.ts';
import { pageOf } from '../list.ts';
import { route } from './route.ts';

/** What is made from archived objects, to be read and searched. */
export const derivedRoutes = {
  searchTexts: route({
    method: 'GET',
    path: '/api/search',
    access: 'read',
    tag: 'Objects',
    summary: 'Search the texts of the sources’ current versions',
    description:
      'Looks through the text that was derived from the current version of each watched source, and its title. A new ' +
      'version is found a little after it came. Newest source first; nothing is ranked.',
    query: searchQuery,
    answers: {
      200: { description: 'A page of sources whose text matches', schema: pageOf(foundTextSchema) },
    },
    problems: [],
  }),
  readObjectText: route({
    method: 'GET',
    path: '/archive/{sha256}/text',
    access: 'read',
    tag: 'Objects',
    summary: 'The readable text of an object',
    description:
      'Made when it is first asked for and kept, with the object and the version of the tool that it was made by. It is ' +
      'derived: the evidence is the object.',
    answers: { 200: { description: 'The text, its links, and what made it', schema: objectTextSchema } },
    problems: ['invalid_digest', 'not_found', 'not_derivable', 'derivation_busy'],
  }),
};
