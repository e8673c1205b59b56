import { z } from 'zod';
import { caseIdSchema } from '../findings/case.ts';
import { PASSAGE } from '../findings/finding.ts';
import { withheldReasonSchema } from '../node/withheld.ts';
import { digestSchema, handInIdSchema, pageIdSchema, sourceIdSchema } from '../values/digest.ts';
import { booleanParameter, namedObject } from '../values/list.ts';
import { httpUrlSchema, instantSchema, text } from '../values/text.ts';
import { HANDED_IN_WORDS } from './observers.ts';
import { pageCaptureSchema } from './page.ts';

/** The largest file that can be handed in. */
export const MAX_HANDED_IN_BYTES = 200_000_000;
/** The largest picture of what was visible. */
export const MAX_PICTURE_BYTES = 50_000_000;
/** The most parts of a saved page. */
export const MAX_HANDED_IN_PARTS = 5_000;
const MAX_NAME = 80;
const MAX_TITLE = 300;
const MAX_NOTE = 2_000;

export const HAND_IN_KINDS = ['mhtml', 'html', 'pdf', 'picture'] as const;

/** The media types of a file that is the whole body. */
export const HANDED_IN_MEDIA_TYPES = [
  'multipart/related',
  'message/rfc822',
  'application/x-mimearchive',
  'text/html',
  'application/xhtml+xml',
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
] as const;

const nameSchema = text(1, MAX_NAME)
  .refine((name) => name.trim() === name, 'Remove the spaces at the beginning or the end.')
  .refine((name) => !/[\p{Cc}\p{Cf}]/u.test(name), 'Control characters are not allowed.');

/** An instant in any form of RFC 3339. */
const anyInstant = z.iso
  .datetime({ offset: true, error: 'Enter a time such as 2026-11-20T10:14:21Z.' })
  .transform((given) => new Date(given).toISOString());

/**
 * What is said about a file that is handed in: query parameters, or fields of the form before or after the file. All of
 * it, except what is left out, becomes part of the record, which is public.
 */
export const handInFieldsSchema = namedObject('HandInFields', {
  url: httpUrlSchema.optional().meta({
    description: 'The address that the person saw. A saved page may name it itself.',
  }),
  title: text(0, MAX_TITLE).optional(),
  seen_at: anyInstant.optional().meta({ description: 'When the person saw it; now by default.' }),
  note: text(0, MAX_NOTE).optional(),
  name: nameSchema.optional().meta({
    description:
      'Who hands it in: the observer is `handed-in:` and this name. The name of the node by default.',
  }),
  withheld: booleanParameter.optional().meta({
    description: 'Whether visitors may not read it, for the reason `login`; true by default.',
  }),
  fetch: booleanParameter.optional().meta({
    description: 'Whether this node fetches and draws the same address, as the public gets it, to compare.',
  }),
  fetch_confirmed: booleanParameter.optional().meta({
    description: 'Required with `fetch` if the address may hold a token.',
  }),
  quote: PASSAGE.exact.optional().meta({
    description: 'A passage of the document that becomes a finding, with `note` as its text.',
  }),
  quote_prefix: PASSAGE.prefix.optional().meta({ description: 'The text before the passage.' }),
  quote_suffix: PASSAGE.suffix.optional().meta({ description: 'The text after the passage.' }),
  case: caseIdSchema.optional().meta({
    description: 'The case that the finding is put into, or the event if nothing is quoted.',
  }),
});
export type HandInFields = z.output<typeof handInFieldsSchema>;

/** A part of a saved page, as the file names it. */
const handInPartSchema = z.strictObject({
  name: z.string().max(4_096).nullable().meta({
    description: 'The address that the file claims for the part, resolved, or `cid:` and its content id.',
  }),
  content_id: z
    .string()
    .max(1_000)
    .nullable()
    .meta({ description: 'What `cid:` addresses of the page name.' }),
  sha256: digestSchema.nullable().meta({ description: 'Null if its bytes could not be decoded.' }),
  bytes: z.int().min(0),
  content_type: z.string().max(1_000).nullable(),
});
export type HandInPart = z.output<typeof handInPartSchema>;

/** What was handed in: exactly the fields that the ledger entry `page.handed_in` covers. */
export const recordedHandInSchema = namedObject('RecordedHandIn', {
  id: handInIdSchema,
  source: sourceIdSchema,
  retrieval: z.int().min(1).meta({ description: 'The retrieval of the document.' }),
  observer: z.string().max(100),
  url: z.string(),
  title: z.string().max(1_000).nullable(),
  note: z.string().max(10_000).nullable(),
  seen_at: instantSchema,
  handed_in_at: instantSchema,
  kind: z.enum(HAND_IN_KINDS),
  file: z.strictObject({ sha256: digestSchema, bytes: z.int().min(0), media_type: z.string().max(1_000) }),
  document: digestSchema.meta({ description: 'The digest of the document, which may be the file itself.' }),
  picture: z
    .strictObject({ sha256: digestSchema, bytes: z.int().min(0), media_type: z.string().max(1_000) })
    .optional()
    .meta({ description: 'A picture of what was visible, if one was handed in with the file.' }),
  parts: z
    .array(handInPartSchema)
    .meta({ description: 'The parts of the file; the document is one of them.' }),
  page: pageIdSchema
    .nullable()
    .meta({ description: 'What the public got at the same time, if it was asked for.' }),
  page_error: z.string().max(2_000).nullable().meta({ description: 'Why there is no such page capture.' }),
});
export type RecordedHandIn = z.output<typeof recordedHandInSchema>;

const handedIn = {
  ledger_entry: z.int().min(1),
  label: z.literal(HANDED_IN_WORDS),
  withheld: z
    .strictObject({ reason: withheldReasonSchema, since: instantSchema })
    .nullable()
    .meta({ description: 'Why visitors may not read the document; null if they may.' }),
};

export const handInSchema = recordedHandInSchema.extend(handedIn).meta({ id: 'HandIn' });
export type HandIn = z.output<typeof handInSchema>;

export const listedHandInSchema = handInSchema
  .omit({ parts: true })
  .extend({ part_count: z.int().min(0) })
  .meta({ id: 'ListedHandIn' });
export type ListedHandIn = z.output<typeof listedHandInSchema>;

/** What the person saw beside what the public got. */
const publicComparisonSchema = z.strictObject({
  page: pageCaptureSchema,
  shared: z
    .array(z.string())
    .meta({ description: 'The blocks of text that both have, in the order of the page.' }),
  only_handed_in: z.int().min(0).meta({ description: 'The number of blocks that only the person saw.' }),
  only_public: z.int().min(0).meta({ description: 'The number of blocks that only the public got.' }),
  truncated: z.boolean().meta({ description: 'Whether only the beginning of the texts was compared.' }),
});

export const handInDetailsSchema = handInSchema
  .extend({
    comparison: publicComparisonSchema.nullable(),
  })
  .meta({ id: 'HandInDetails' });
export type HandInDetails = z.output<typeof handInDetailsSchema>;

/** Parts of names, and whole words of names, that stand for secrets. */
const SECRET_PARTS = /token|secret|sess|passw|apikey|signature|jwt|auth(?!or)|credential/i;
const SECRET_WORDS =
  /^(key|sid|sig|code|pass|pwd|pin|otp|ticket|hash|state|nonce|invite|access|id_?hint|login)$/i;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const MIN_RANDOM = 20;
const MIN_RANDOM_WORD = 12;

/**
 * Whether an address may hold a secret: a parameter with such a name, or a long value that looks random, in the query, the
 * fragment or the path. Whoever fetches such an address may act in the name of the person.
 */
export function mayHoldToken(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  const pairs = [url.search, url.hash].flatMap((part) => [
    ...new URLSearchParams(part.replace(/^[#?!/]+/, '')),
  ]);
  return (
    url.username !== '' ||
    url.password !== '' ||
    pairs.some(
      ([name, value]) => (value !== '' && isSecretName(name)) || isRandom(value) || isRandom(name),
    ) ||
    url.pathname.split('/').some(isRandom)
  );
}

function isSecretName(name: string): boolean {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').split(/[^A-Za-z]+/);
  return SECRET_PARTS.test(name) || words.some((word) => SECRET_WORDS.test(word));
}

/** Long, with digits among letters or capitals among small letters, as no word is. */
function isRandom(value: string): boolean {
  if (UUID.test(value)) return true;
  return value.split(/[^A-Za-z0-9_=+-]/).some(
    (piece) =>
      piece.length >= MIN_RANDOM &&
      // The words of a title in an address are short.
      piece.split(/[-_]/).some((word) => word.length >= MIN_RANDOM_WORD && isMixed(word)),
  );
}

function isMixed(word: string): boolean {
  return (/\d/.test(word) && /[A-Za-z]/.test(word)) || /[a-z][A-Z].*[a-z][A-Z]/.test(word);
}
