import { z } from 'zod';
import { sourceIdSchema } from '../values/digest.ts';
import { listQuery, namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

/** Where the addresses of further sources are read: a page's links, a feed's items, or a sitemap. */
const FOLLOW_KINDS = ['links', 'feed', 'sitemap'] as const;
export type FollowKind = (typeof FOLLOW_KINDS)[number];

/** The most sources that one source may bring. */
const MAX_FOLLOW_LIMIT = 10_000;

const typeName = z
  .string()
  .regex(
    /^(\.?[A-Za-z0-9]{1,20}|[A-Za-z0-9!#$&^_.+-]{1,100}\/([A-Za-z0-9!#$&^_.+-]{1,100}|\*))$/,
    'Enter a media type, such as application/pdf, or an extension, such as .pdf.',
  );

/** What becomes a source of its own, of what the newest version of a source links to or lists. */
export const followSchema = namedObject('Follow', {
  kind: z.enum(FOLLOW_KINDS),
  match: text(1, 1_000).optional().meta({
    description:
      'A regular expression of RE2’s syntax. It must match a part of the address. Without it, only addresses of the same host are followed.',
  }),
  types: z
    .array(typeName)
    .min(1, 'Leave the types out to follow all.')
    .max(20, 'At most 20 types.')
    .optional()
    .meta({
      description: 'Media types or file extensions; one of them must be that of the address.',
    }),
  limit: z
    .int()
    .min(1, 'At least 1.')
    .max(MAX_FOLLOW_LIMIT, `At most ${MAX_FOLLOW_LIMIT}.`)
    .meta({ description: 'The most addresses that wait or are added.' }),
  approve: z.boolean().default(true).meta({
    description: 'Whether a found address waits for the owner’s approval before it becomes a source.',
  }),
});
export type Follow = z.output<typeof followSchema>;

/** The most addresses that a preview names. */
export const MAX_PREVIEWED_LINKS = 100;

/** What following a source would find now. */
export const followPreviewSchema = namedObject('FollowPreview', {
  listed: z.int().meta({ description: 'The number of different addresses that were read.' }),
  matched: z.int(),
  known: z.int().meta({
    description: 'Of the matches: those that are watched, were found before, or were refused or removed.',
  }),
  added: z.int().meta({
    description: 'How many of the others would be watched, or wait for approval, within the limits.',
  }),
  items: z
    .array(z.strictObject({ url: z.string(), title: z.string() }))
    .max(MAX_PREVIEWED_LINKS)
    .meta({ description: `The first ${MAX_PREVIEWED_LINKS} of these.` }),
  complete: z.boolean().meta({ description: 'Whether all of it was read.' }),
  problem: z.string().nullable().meta({ description: 'Why it could not be read, or not all of it.' }),
});
export type FollowPreview = z.output<typeof followPreviewSchema>;

const FOUND_STATES = ['waiting', 'refused', 'added'] as const;
export type FoundState = (typeof FOUND_STATES)[number];

/** An address that a source that is followed links to or lists. */
export const foundLinkSchema = namedObject('FoundLink', {
  id: sourceIdSchema.meta({ description: 'The id that the source of this address has or would have.' }),
  url: z.string(),
  title: z.string().meta({ description: 'The text of the link, or the title of the item; may be empty.' }),
  state: z.enum(FOUND_STATES),
  found_at: instantSchema,
  unlinked_at: instantSchema.nullable().meta({
    description: 'When the address was first missing from the source’s newest version; null if it is there.',
  }),
  found_in: z.strictObject({ id: sourceIdSchema, url: z.string(), name: z.string() }),
});
export type FoundLink = z.output<typeof foundLinkSchema>;

export const foundLinksQuery = z.strictObject({
  ...listQuery,
  state: z.enum(FOUND_STATES).optional(),
  source: sourceIdSchema.optional().meta({ description: 'Only what this source links to or lists.' }),
});
export type FoundLinksQuery = z.output<typeof foundLinksQuery>;

/** The most addresses that one request approves or refuses by id. */
const MAX_CHOSEN_LINKS = 1_000;

/** Which waiting addresses to approve or refuse: those with these ids, or all (of a source). */
export const chosenLinksSchema = z
  .union([
    z.strictObject({ ids: z.array(sourceIdSchema).min(1).max(MAX_CHOSEN_LINKS) }),
    z.strictObject({ all: z.literal(true), source: sourceIdSchema.optional() }),
  ])
  .meta({ id: 'ChosenLinks' });
export type ChosenLinks = z.output<typeof chosenLinksSchema>;

export const approvedLinksSchema = z
  .strictObject({ added: z.int(), already: z.int(), sources: z.array(sourceIdSchema) })
  .meta({ id: 'ApprovedLinks' });
export type ApprovedLinks = z.output<typeof approvedLinksSchema>;

/** The newest reading of the links of a source. */
export const followRunSchema = z.strictObject({
  at: instantSchema,
  listed: z.int().meta({ description: 'The number of different addresses that were read.' }),
  matched: z.int(),
  complete: z.boolean().meta({ description: 'Whether all of it was read.' }),
  problem: z.string().nullable().meta({ description: 'Why it could not be read, or not all of it.' }),
});
export type FollowRun = z.output<typeof followRunSchema>;
