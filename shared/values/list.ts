import { z } from 'zod';
import { DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT, MIN_LIST_LIMIT } from '../limits.ts';

/** A query parameter that is a whole number in decimal digits. */
export function integerParameter(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'Enter a whole number.')
    .transform(Number)
    .pipe(z.number().min(min, `At least ${min}.`).max(max, `At most ${max}.`))
    .meta({ type: 'integer', minimum: min, ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {}) });
}

/** A query parameter that is `true` or `false`. */
export const booleanParameter = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta({ type: 'boolean' });

/** The query parameters of every list. */
export const listQuery = {
  limit: integerParameter(MIN_LIST_LIMIT, MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
  offset: integerParameter(0, Number.MAX_SAFE_INTEGER).default(0),
};

/** A search query: words that must all occur, and "phrases". Every text is valid. */
export const searchParameter = z.string();

/** The schema of an object with these members only. The OpenAPI document describes it once, under its name. */
export function namedObject<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.strictObject(shape).meta({ id });
}

/** One page of a list. `next` is the path of the next page with the same query, or null. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item),
    total: z.int().min(0),
    limit: z.int(),
    offset: z.int().min(0),
    next: z.string().nullable(),
  });
}

/** One page of a list as a service returns it. The route adds `limit`, `offset` and `next`. */
export interface Slice<Item> {
  items: Item[];
  total: number;
}
