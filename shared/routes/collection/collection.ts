import { z } from 'zod';
import { statsSchema, statusSchema } from '../../collection/collection.ts';
import {
  eventDensityQuery,
  eventDensitySchema,
  eventDetailsSchema,
  eventObserversSchema,
  eventQualitySchema,
  eventSchema,
  eventsQuery,
  ownEventsQuery,
  seenChangeSchema,
  seenSchema,
  summariesParameter,
} from '../../collection/event.ts';
import { objectMetadataSchema, retrievalSchema } from '../../collection/retrieval.ts';
import { sourceSchema, sourcesQuery } from '../../collection/source.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, route, UNREADABLE } from '../route.ts';

/** The archive of observed web sources. Visitors can only read it. */
export const collectionRoutes = {
  readStatus: route({
    method: 'GET',
    path: '/api/status',
    access: 'read',
    tag: 'Collection',
    summary: 'Check whether collection works, and list the failing sources',
    responses: {
      200: { description: 'A collection was completed within the last 24 hours', schema: statusSchema },
      503: { description: 'No collection was completed within the last 24 hours', schema: statusSchema },
    },
  }),
  readHealth: route({
    method: 'GET',
    path: '/api/health',
    access: 'open',
    tag: 'Collection',
    summary: 'Check whether the node is running',
    responses: {
      200: { description: 'The node is running', schema: z.strictObject({ status: z.literal('up') }) },
    },
  }),
  readStats: route({
    method: 'GET',
    path: '/api/stats',
    access: 'read',
    tag: 'Collection',
    summary: 'Read how many sources, observations, objects and events there are',
    responses: { 200: { description: 'The counts', schema: statsSchema } },
  }),
  listSources: route({
    method: 'GET',
    path: '/api/sources',
    access: 'read',
    tag: 'Collection',
    summary: 'List the watched sources',
    query: sourcesQuery,
    responses: { 200: { description: 'A page of sources', schema: pageOf(sourceSchema) } },
  }),
  readSource: route({
    method: 'GET',
    path: '/api/sources/{id}',
    access: 'read',
    tag: 'Collection',
    summary: 'Read a source, including one that is no longer watched',
    responses: { 200: { description: 'The source', schema: sourceSchema } },
    problems: ['not_found'],
  }),
  listEvents: route({
    method: 'GET',
    path: '/api/events',
    access: 'read',
    tag: 'Timeline',
    summary: 'List events',
    query: eventsQuery.extend({
      summaries: summariesParameter,
      format: z.string().optional().meta({
        description: '`csv` returns all matching events as CSV and ignores `limit` and `offset`.',
      }),
    }),
    responses: {
      200: {
        description: 'A page of events, newest first; or all matching events as CSV',
        schema: pageOf(eventSchema),
        mediaTypes: ['text/csv'],
      },
    },
    problems: ['invalid_format', 'storage_failed', 'busy'],
  }),
  readEventFeed: route({
    method: 'GET',
    path: '/api/events.atom',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read events as an Atom feed (RFC 4287)',
    query: eventsQuery,
    responses: {
      200: { description: 'A page of events, newest first', mediaTypes: ['application/atom+xml'] },
      304: { description: 'Not modified' },
    },
  }),
  streamEvents: route({
    method: 'GET',
    path: '/api/events/stream',
    access: 'read',
    tag: 'Timeline',
    summary: 'Stream new events',
    description: 'Server-sent events. With `Last-Event-ID` the stream continues after that event.',
    responses: {
      200: { description: 'Server-sent events, one per event', mediaTypes: ['text/event-stream'] },
    },
    problems: ['busy'],
  }),
  readEventDensity: route({
    method: 'GET',
    path: '/api/events/density',
    access: 'read',
    tag: 'Timeline',
    summary: 'Count events over time',
    description:
      'Counts events by `observed_at` in buckets of equal length, from `since` to `until`. The defaults are the times of the oldest and the newest event.',
    query: eventDensityQuery,
    responses: { 200: { description: 'The counts, oldest bucket first', schema: eventDensitySchema } },
  }),
  readEvent: route({
    method: 'GET',
    path: '/api/events/{id}',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read an event',
    responses: { 200: { description: 'The event', schema: eventDetailsSchema } },
    problems: ['not_found'],
  }),
  readEventObservers: route({
    method: 'GET',
    path: '/api/events/{id}/observers',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read who retrieved the version of an event, and when',
    description: 'All observers of the same digest at the same source, this node included, earliest first.',
    responses: { 200: { description: 'The observers', schema: eventObserversSchema } },
    problems: ['not_found'],
  }),
  readEventRetrieval: route({
    method: 'GET',
    path: '/api/events/{id}/retrieval',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read the retrieval that caused an event: how it was fetched',
    responses: { 200: { description: 'The retrieval', schema: retrievalSchema } },
    problems: ['not_found'],
  }),
  readEventQuality: route({
    method: 'GET',
    path: '/api/events/{id}/quality',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read what suggests that the version of an event is not the expected page',
    description:
      'Rules look for signs of bot walls, rate limits, error pages and pages built by scripts, each with a score and a reason. It is computed from the archived bytes on request: the event keeps the label that it was recorded with.',
    responses: {
      200: { description: 'The recorded label, and the signs found', schema: eventQualitySchema },
    },
    problems: ['not_found', ...UNREADABLE, 'blob_damaged', 'copy_unreachable'],
  }),
  readObject: route({
    method: 'GET',
    path: '/archive/{sha256}',
    access: 'read',
    tag: 'Objects',
    summary: 'Read an object: the bytes exactly as they were retrieved',
    responses: {
      200: { description: 'The bytes, with the recorded content type', mediaTypes: ['*/*'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['*/*'] },
      304: { description: 'Not modified' },
    },
    problems: ['invalid_digest', 'not_found', ...UNREADABLE, 'range_not_satisfiable', 'copy_unreachable'],
  }),
  readObjectMetadata: route({
    method: 'GET',
    path: '/archive/{sha256}/metadata',
    access: 'read',
    tag: 'Objects',
    summary: 'List the retrievals of an object, and check its stored bytes',
    responses: {
      200: { description: 'The object’s size, observers and retrievals', schema: objectMetadataSchema },
    },
    problems: ['invalid_digest', 'not_found', 'copy_unreachable'],
  }),
};

/** Which events the owner has seen. */
export const seenRoutes = {
  readSeen: manageRoute({
    method: 'GET',
    path: '/manage/seen',
    summary: 'Read which events you have seen',
    responses: { 200: { description: 'The marks, and how many events are unseen', schema: seenSchema } },
  }),
  changeSeen: manageRoute({
    method: 'PATCH',
    path: '/manage/seen',
    summary: 'Mark events as seen or unseen',
    description:
      'Applies `until` first, then `seen`, then `unseen`. The marks are private: they are in no dump and no ledger entry.',
    body: jsonBody(seenChangeSchema),
    responses: { 200: { description: 'The marks after the change', schema: seenSchema } },
  }),
  listOwnEvents: manageRoute({
    method: 'GET',
    path: '/manage/events',
    summary: 'List events, also by whether you have seen them',
    description: 'The same as `/api/events`, with the further filter `seen`.',
    query: ownEventsQuery,
    responses: { 200: { description: 'A page of events, newest first', schema: pageOf(eventSchema) } },
  }),
};
