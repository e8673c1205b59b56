import { z } from 'zod';
import { sourceIdSchema } from '../values/digest.ts';
import { listQuery, namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

/** The limits of a profile: what a site keeps in a browser is far below them. */
export const MAX_PROFILE_COOKIES = 500;
export const MAX_PROFILE_ITEMS = 2_000;
/** The characters of the cookies and of the storage that are kept, together. */
export const MAX_PROFILE_CHARACTERS = 1_000_000;
/** The largest file that is read: browsers write the cookies of all sites into one. */
export const MAX_PROFILE_BYTES = 4_194_304;

export const profileIdSchema = z
  .string()
  .regex(/^pf_[0-9a-f]{20}$/, 'The id of a profile is pf_ and 20 hex digits.');

/**
 * `untried`: it was not used since it was made or replaced. `expired`: the site no longer accepts it. `unreadable`: its
 * key is missing or another one.
 */
export const PROFILE_STATES = ['untried', 'works', 'expired', 'unreadable'] as const;
export type ProfileState = (typeof PROFILE_STATES)[number];

/** By what it was noticed that a profile no longer works. */
export const EXPIRY_REASONS = ['login_page', 'password_field', 'unauthorized', 'forbidden'] as const;
export type ExpiryReason = (typeof EXPIRY_REASONS)[number];

/** The same in words, after “because”. */
export const EXPIRY_WORDS: Record<ExpiryReason, string> = {
  login_page: 'the site showed a login page instead',
  password_field: 'the page asks for a password, which it did not before',
  unauthorized: 'the server answered 401',
  forbidden: 'the server answered 403, where it sent the page before',
};

/** A cookie as Playwright and most extensions write it. Further members are ignored. */
const cookieSchema = z.object({
  name: z.string().max(4_096, 'At most 4096 characters.'),
  value: z.string().max(8_192, 'At most 8192 characters.'),
  domain: z.string().max(1_000, 'At most 1000 characters.').optional(),
  path: z.string().max(2_048, 'At most 2048 characters.').optional(),
  expires: z.number().optional().meta({ description: 'Seconds since 1970; -1 for the end of the session.' }),
  httpOnly: z.boolean().optional(),
  secure: z.boolean().optional(),
  sameSite: z.string().max(20).nullable().optional(),
});
export type GivenCookie = z.output<typeof cookieSchema>;

/** The storage state of Playwright. Further members are ignored. */
const storageStateSchema = z.object({
  cookies: z.array(cookieSchema).max(20_000, 'At most 20000 cookies.').optional(),
  origins: z
    .array(
      z.object({
        origin: z.string().max(2_048),
        localStorage: z
          .array(z.object({ name: z.string(), value: z.string() }))
          .max(20_000, 'At most 20000 items.')
          .optional(),
      }),
    )
    .max(5_000, 'At most 5000 origins.')
    .optional(),
});
export type GivenStorageState = z.output<typeof storageStateSchema>;

const contentFields = {
  netscape: z
    .string()
    .max(MAX_PROFILE_BYTES)
    .optional()
    .meta({ description: 'A Netscape cookie file (`cookies.txt`).' }),
  storage_state: storageStateSchema.optional().meta({
    description: 'A storage state of Playwright: cookies, and the local storage of origins.',
  }),
  cookies: z.array(cookieSchema).max(20_000, 'At most 20000 cookies.').optional(),
};

const siteField = z.string().min(1, 'Enter the site, such as example.org.').max(2_048).meta({
  description:
    'A host name or an address of the site. Its registered domain counts: example.org for https://www.example.org/a. For an IP address or a name without a domain, the port counts, too, if it is given.',
});

const hasOneContent = (body: { [Name in keyof typeof contentFields]?: unknown }) =>
  [body.netscape, body.storage_state, body.cookies].filter((given) => given !== undefined).length === 1;

export const newProfileSchema = z
  .strictObject({ name: text(0, 200).default(''), site: siteField.optional(), ...contentFields })
  .refine(hasOneContent, {
    message: 'Give one of netscape, storage_state and cookies.',
    path: ['netscape'],
  })
  .meta({ id: 'NewProfile' });
export type NewProfile = z.output<typeof newProfileSchema>;

/** Only its name, or also new cookies and storage in place of those before. The site stays. */
export const profileChangeSchema = z
  .strictObject({ name: text(0, 200).optional(), ...contentFields })
  .refine(
    ({ netscape, storage_state, cookies }) =>
      [netscape, storage_state, cookies].filter((given) => given !== undefined).length <= 1,
    { message: 'Give only one of netscape, storage_state and cookies.', path: ['netscape'] },
  )
  .meta({ id: 'ProfileChange' });
export type ProfileChange = z.output<typeof profileChangeSchema>;

/** A profile as it is shown: never a cookie, nor the name of one. */
export const profileSchema = namedObject('Profile', {
  id: profileIdSchema,
  name: z.string(),
  site: z.string(),
  cookies: z.int(),
  storage_items: z.int(),
  expires_at: instantSchema.nullable().meta({
    description: 'When the first of its cookies ends by itself; null if none says when.',
  }),
  created_at: instantSchema,
  replaced_at: instantSchema.nullable(),
  state: z.enum(PROFILE_STATES),
  last_used_at: instantSchema.nullable(),
  expired_at: instantSchema.nullable(),
  expired_reason: z.enum(EXPIRY_REASONS).nullable(),
  expired_source: sourceIdSchema.nullable().meta({ description: 'The source that noticed it first.' }),
  sources: z.int().meta({ description: 'How many watched sources name it.' }),
});
export type Profile = z.output<typeof profileSchema>;

/** What was made of what was given. */
export const keptProfileSchema = profileSchema
  .extend({
    left_out: z.int().meta({
      description: 'Cookies and items that were not kept: of other sites, expired, or not valid.',
    }),
  })
  .meta({ id: 'KeptProfile' });
export type KeptProfile = z.output<typeof keptProfileSchema>;

export const profilesQuery = z.strictObject(listQuery);

type Content = Pick<NewProfile, 'netscape' | 'storage_state' | 'cookies'>;

/** Tells a cookie file from the storage state of Playwright, and from a list of cookies. @throws Error if it is JSON of another kind */
export function profileContentOf(text: string): Content {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return { netscape: text };
  let json: unknown;
  try {
    json = JSON.parse(trimmed);
  } catch (cause) {
    throw new Error('This begins like JSON, but is not. Was the whole file pasted?', { cause });
  }
  if (Array.isArray(json)) return { cookies: json as NonNullable<Content['cookies']> };
  return { storage_state: json as NonNullable<Content['storage_state']> };
}
