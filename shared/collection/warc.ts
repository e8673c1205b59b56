import type { z } from 'zod';
import { booleanParameter } from '../values/list.ts';
import { eventsQuery } from './event.ts';

/** Selects the attempts in a WARC file, and whether its records are compressed. */
export const warcQuery = eventsQuery
  .pick({ source: true, since: true, until: true })
  .extend({ gzip: booleanParameter.optional() });
export type WarcQuery = z.output<typeof warcQuery>;
