import { z } from 'zod';
import { instantSchema } from './text.ts';

/** A TimeMap as JSON, with the names that other tools of the web archives use. */
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

/** The moment of a memento as its address has it: `YYYYMMDDhhmmssmmm`. */
export function mementoTimestamp(instant: string): string {
  return instant.replace(/\D/g, '');
}
