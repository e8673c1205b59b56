import { z } from 'zod';

/**
 * A list in the answer of a peer, cut to `most` items if that is given. Checking ends at the first wrong item: a plain
 * array schema collects every error, and millions of wrong items would fill the memory of this node.
 */
export function listOf<Item extends z.ZodType>(item: Item, most?: number) {
  return z.array(z.unknown()).transform((given, context): z.output<Item>[] => {
    const items: z.output<Item>[] = [];
    for (const each of given.slice(0, most)) {
      const parsed = item.safeParse(each);
      if (!parsed.success) {
        context.addIssue({ code: 'custom', message: parsed.error.message });
        return z.NEVER;
      }
      items.push(parsed.data);
    }
    return items;
  });
}
