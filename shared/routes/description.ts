import { z } from 'zod';
import { route } from './route.ts';

/** The interface, described for programs and for people. */
export const descriptionRoutes = {
  readOpenapi: route({
    method: 'GET',
    path: '/api/openapi.json',
    access: 'read',
    tag: 'Description',
    summary: 'This interface as an OpenAPI 3.1 document',
    answers: {
      200: {
        description: 'The document, made from the schemas that check the requests',
        schema: z.looseObject({
          openapi: z.string(),
          info: z.looseObject({ title: z.string(), version: z.string() }),
          paths: z.record(z.string(), z.unknown()),
        }),
      },
    },
    problems: [],
  }),
  readDocs: route({
    method: 'GET',
    path: '/api/docs',
    access: 'read',
    tag: 'Description',
    summary: 'The same document as a page to read',
    answers: {
      200: { description: 'A page that asks nothing of any other machine', mediaTypes: ['text/html'] },
    },
    problems: [],
  }),
};
