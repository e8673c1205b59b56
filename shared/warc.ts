import type { z } from 'zod';
import { eventsQuery } from './event.ts';
import { booleanParameter } from './list.ts';

/** Which attempts a WARC file is made of, and whether its records are packed. */
export const warcQuery = eventsQuery
  .pick({ source: true, since: true, until: true })
  .extend({ gzip: booleanParameter.optional() });
export type WarcQuery = z.output<typeof warcQuery>;
