import { z } from 'zod';
import { instantSchema } from './text.ts';

/** A TimeMap as JSON, with the field names that other web archiving tools use. */
export const timeMapSchema = z
  .strictObject({
    original_uri: z.string(),
    timegate_uri: z.string(),
    timemap_uri: z.strictObject({ link_format: z.string(), json_format: z.string() }),
    mementos: z.strictObject({
      first: z.strictObject({ datetime: instantSchema, uri: z.string() }),
      last: z.strictObject({ datetime: instantSchema, uri: z.string() }),
      list: z.array(z.strictObject({ datetime: instantSchema, uri: z.string() })),
    }),
  })
  .meta({ id: 'TimeMap' });

/** Formats the time of a memento as in its URL: `YYYYMMDDhhmmssmmm`. */
export function mementoTimestamp(instant: string): string {
  return instant.replace(/\D/g, '');
}
