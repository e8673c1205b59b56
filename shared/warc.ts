import type { z } from 'zod';
import { eventsQuery } from './event.ts';
import { booleanParameter } from './list.ts';

/** The retrievals to export as WARC, and whether the records are compressed. */
export const warcQuery = eventsQuery
  .pick({ source: true, since: true, until: true })
  .extend({ gzip: booleanParameter.optional() });
export type WarcQuery = z.output<typeof warcQuery>;
