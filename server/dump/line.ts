import { z } from 'zod';
import { isHttpUrl } from '../../shared/values/text.ts';

export const number = z.int().min(1);
export const count = z.int().min(0);
export const flag = z.union([z.literal(0), z.literal(1)]);
export const httpUrl = z.string().refine(isHttpUrl, 'An absolute http or https URL is required.');

/** A line of one kind, with no other fields. */
export function line<Kind extends string, Shape extends z.core.$ZodLooseShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...shape });
}
