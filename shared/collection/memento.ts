import { z } from 'zod';
import { instantSchema } from '../values/text.ts';

/** A TimeMap as JSON, with the member names used by other web archive tools. */
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

/** Formats an instant as in the address of a memento: `YYYYMMDDhhmmssmmm`. */
export function mementoTimestamp(instant: string): string {
  return instant.replace(/\D/g, '');
}
