import { z } from 'zod';
import {
  approvedLinksSchema,
  chosenLinksSchema,
  foundLinkSchema,
  foundLinksQuery,
} from '../../collection/follow.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route } from '../route.ts';

/** The addresses that followed sources link to. */
export const followRoutes = {
  listFound: route({
    method: 'GET',
    path: '/manage/found',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the addresses that followed sources link to or list',
    query: foundLinksQuery,
    responses: {
      200: {
        description: 'A page of addresses, by source, waiting ones first, then newest first',
        schema: pageOf(foundLinkSchema),
      },
    },
    problems: [],
  }),
  approveFound: route({
    method: 'POST',
    path: '/manage/found/approve',
    access: 'owner',
    tag: 'Manage',
    summary: 'Watch addresses that wait for approval',
    description:
      'Each becomes a source with the agency, the tags and the schedule of the source in which it was found. What does not wait is left out.',
    body: jsonBody(chosenLinksSchema),
    responses: { 200: { description: 'What was added', schema: approvedLinksSchema } },
    problems: [],
  }),
  refuseFound: route({
    method: 'POST',
    path: '/manage/found/refuse',
    access: 'owner',
    tag: 'Manage',
    summary: 'Refuse addresses that wait for approval',
    description: 'They are not offered again.',
    body: jsonBody(chosenLinksSchema),
    responses: {
      200: {
        description: 'How many were refused',
        schema: z.strictObject({ refused: z.int() }).meta({ id: 'RefusedLinks' }),
      },
    },
    problems: [],
  }),
};
