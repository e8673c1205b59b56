import { z } from 'zod';
import { route } from '../route.ts';

/** The description of the API, for programs and for people. */
export const descriptionRoutes = {
  readOpenapi: route({
    method: 'GET',
    path: '/api/openapi.json',
    access: 'read',
    tag: 'Description',
    summary: 'Read the OpenAPI 3.1 document of this API',
    responses: {
      200: {
        description: 'The document, generated from the schemas that validate requests',
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
    summary: 'Read the documentation of this API as a web page',
    responses: {
      200: { description: 'A page that loads nothing from other hosts', mediaTypes: ['text/html'] },
    },
    problems: [],
  }),
};
