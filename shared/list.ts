import { z } from 'zod';
import { DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT, MIN_LIST_LIMIT } from './limits.ts';

/** A query value is text; this reads a whole number in decimal digits and nothing else. */
export function integerParameter(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'Enter a whole number.')
    .transform(Number)
    .pipe(z.number().min(min, `At least ${min}.`).max(max, `At most ${max}.`))
    .meta({ type: 'integer', minimum: min, ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {}) });
}

/** `true` or `false` as a query value. */
export const booleanParameter = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta({ type: 'boolean' });

/** The query parameters that every list takes. */
export const listQuery = {
  limit: integerParameter(MIN_LIST_LIMIT, MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
  offset: integerParameter(0, Number.MAX_SAFE_INTEGER).default(0),
};

/** Words, all of which must occur, and "phrases"; any text is valid, as long as a request's head can be. */
export const searchParameter = z.string();

/** One page of a list; `next` is the path of the next page with all of the query kept, or null. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item),
    total: z.int().min(0),
    limit: z.int(),
    offset: z.int().min(0),
    next: z.string().nullable(),
  });
}

/** What a service answers for one page; the route adds `limit`, `offset` and `next`. */
export interface Slice<Item> {
  items: Item[];
  total: number;
}
