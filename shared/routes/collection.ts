import { z } from 'zod';
import { statsSchema, statusSchema } from '../collection.ts';
import {
  eventDensityQuery,
  eventDensitySchema,
  eventDetailsSchema,
  eventSchema,
  eventsQuery,
} from '../event.ts';
import { pageOf } from '../list.ts';
import { objectMetadataSchema, sourceSchema, sourcesQuery } from '../source.ts';
import { route } from './route.ts';

/** Interface B: the source-observation archive, read-only to the world. */
export const collectionRoutes = {
  readStatus: route({
    method: 'GET',
    path: '/api/status',
    access: 'read',
    tag: 'Collection',
    summary: 'Whether the system is working, and every source that fails',
    answers: {
      200: { description: 'A collection was completed within the last 24 hours', schema: statusSchema },
      503: { description: 'None was', schema: statusSchema },
    },
    problems: [],
  }),
  readHealth: route({
    method: 'GET',
    path: '/api/health',
    access: 'open',
    tag: 'Collection',
    summary: 'Whether the web process is up',
    answers: { 200: { description: 'It is', schema: z.strictObject({ status: z.literal('up') }) } },
    problems: [],
  }),
  readStats: route({
    method: 'GET',
    path: '/api/stats',
    access: 'read',
    tag: 'Collection',
    summary: 'Counts',
    answers: { 200: { description: 'The counts', schema: statsSchema } },
    problems: [],
  }),
  listSources: route({
    method: 'GET',
    path: '/api/sources',
    access: 'read',
    tag: 'Collection',
    summary: 'Every watched source',
    query: sourcesQuery,
    answers: { 200: { description: 'A page of sources', schema: pageOf(sourceSchema) } },
    problems: [],
  }),
  readSource: route({
    method: 'GET',
    path: '/api/sources/{id}',
    access: 'read',
    tag: 'Collection',
    summary: 'Read a source, also one that is no longer watched',
    answers: { 200: { description: 'The source', schema: sourceSchema } },
    problems: ['not_found'],
  }),
  listEvents: route({
    method: 'GET',
    path: '/api/events',
    access: 'read',
    tag: 'Timeline',
    summary: 'The timeline',
    query: eventsQuery.extend({
      format: z.string().optional().meta({
        description: '`csv`: every event that the filters name, whatever `limit` and `offset` say.',
      }),
    }),
    answers: {
      200: {
        description: 'A page of events, newest first; or all of them as CSV',
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
    summary: 'The timeline as an Atom feed (RFC 4287)',
    query: eventsQuery,
    answers: {
      200: { description: 'A page of events, newest first', mediaTypes: ['application/atom+xml'] },
      304: { description: 'The copy held is the same' },
    },
    problems: [],
  }),
  streamEvents: route({
    method: 'GET',
    path: '/api/events/stream',
    access: 'read',
    tag: 'Timeline',
    summary: 'Events as they happen; resumes from Last-Event-ID',
    answers: { 200: { description: 'Server-sent events, one per row', mediaTypes: ['text/event-stream'] } },
    problems: [],
  }),
  readEventDensity: route({
    method: 'GET',
    path: '/api/events/density',
    access: 'read',
    tag: 'Timeline',
    summary: 'How many events there are over time, in buckets of the same length',
    description:
      'From the oldest event to the newest, unless `since` and `until` say otherwise; by `observed_at`.',
    query: eventDensityQuery,
    answers: { 200: { description: 'The counts, oldest bucket first', schema: eventDensitySchema } },
    problems: [],
  }),
  readEvent: route({
    method: 'GET',
    path: '/api/events/{id}',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read an event',
    answers: { 200: { description: 'The event', schema: eventDetailsSchema } },
    problems: ['not_found'],
  }),
  readObject: route({
    method: 'GET',
    path: '/archive/{sha256}',
    access: 'read',
    tag: 'Objects',
    summary: 'The bytes exactly as they were retrieved',
    answers: {
      200: { description: 'The bytes, with the recorded content type', mediaTypes: ['*/*'] },
      206: { description: 'The range or ranges asked for', mediaTypes: ['*/*'] },
      304: { description: 'The copy held is the same' },
    },
    problems: ['invalid_digest', 'not_found', 'range_not_satisfiable'],
  }),
  readObjectMetadata: route({
    method: 'GET',
    path: '/archive/{sha256}/metadata',
    access: 'read',
    tag: 'Objects',
    summary: 'Every retrieval of an object, and whether it still hashes to its name',
    answers: { 200: { description: 'The retrievals', schema: objectMetadataSchema } },
    problems: ['invalid_digest', 'not_found'],
  }),
};
