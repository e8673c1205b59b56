import { eventSchema } from '../../collection/event.ts';
import { ownEventsQuery, seenChangeSchema, seenSchema } from '../../collection/seen.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, route } from '../route.ts';

/** Which events the owner has seen. */
export const seenRoutes = {
  readSeen: route({
    method: 'GET',
    path: '/manage/seen',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read which events you have seen',
    responses: { 200: { description: 'The marks, and how many events are unseen', schema: seenSchema } },
    problems: [],
  }),
  changeSeen: route({
    method: 'PATCH',
    path: '/manage/seen',
    access: 'owner',
    tag: 'Manage',
    summary: 'Mark events as seen or unseen',
    description:
      'Applies `until` first, then `seen`, then `unseen`. The marks are private: they are in no dump and no ledger entry.',
    body: jsonBody(seenChangeSchema),
    responses: { 200: { description: 'The marks after the change', schema: seenSchema } },
    problems: [],
  }),
  listOwnEvents: route({
    method: 'GET',
    path: '/manage/events',
    access: 'owner',
    tag: 'Manage',
    summary: 'List events, also by whether you have seen them',
    description: 'The same as `/api/events`, with the further filter `seen`.',
    query: ownEventsQuery,
    responses: { 200: { description: 'A page of events, newest first', schema: pageOf(eventSchema) } },
    problems: [],
  }),
};
