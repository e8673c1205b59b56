import { z } from 'zod';
import { booleanParameter } from '../values/list.ts';
import { eventsQuery, summariesParameter } from './event.ts';

/** The number of events whose state can differ from that of the events around them. */
export const MAX_SEEN_EXCEPTIONS = 10_000;
/** The number of events that one request can mark. */
const MAX_MARKED = 500;

/** Which events the owner has seen: all up to `until`, except that `exceptions` reverses the state of single events. */
export const seenSchema = z
  .strictObject({
    until: z.int().min(0),
    exceptions: z.array(z.int().min(1)).meta({
      description: 'Ids of events, ascending: unseen ones up to `until`, seen ones after it.',
    }),
    unseen: z.int().min(0).meta({ description: 'The number of unseen events, without noise.' }),
    unseen_noise: z.int().min(0).meta({ description: 'The number of unseen events that are only noise.' }),
  })
  .meta({ id: 'Seen' });
export type Seen = z.output<typeof seenSchema>;

const eventIds = z.array(z.int().min(1)).max(MAX_MARKED, `At most ${MAX_MARKED} events.`);

export const seenChangeSchema = z
  .strictObject({
    until: z.int().min(1).optional().meta({ description: 'Marks every event up to this one as seen.' }),
    seen: eventIds.optional(),
    unseen: eventIds.optional(),
  })
  .meta({ id: 'SeenChange' });
export type SeenChange = z.output<typeof seenChangeSchema>;

export const ownEventsQuery = eventsQuery.extend({
  seen: booleanParameter.optional(),
  summaries: summariesParameter,
});
