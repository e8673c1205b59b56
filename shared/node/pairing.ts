import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

/** The prefix of the tokens of a paired browser. It distinguishes them from the owner's token. */
export const PAIRED_TOKEN_PREFIX = 'browser-';

/** A code is valid for so long. */
export const PAIRING_MINUTES = 10;

/** The characters of a code: no letter looks like a digit (Crockford's base 32). */
export const PAIRING_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MAX_NAME = 60;

const pairedBrowserIdSchema = z
  .string()
  .regex(/^br_[0-9a-f]{20}$/, 'The id of a paired browser is br_ and 20 hex digits.');

/** A code that pairs one browser, once. It is shown only in the response. */
export const pairingCodeSchema = namedObject('PairingCode', {
  code: z.string().meta({ description: 'Eight characters in two groups, such as `7KQ2-M9XD`.' }),
  expires_at: instantSchema,
});
export type PairingCode = z.output<typeof pairingCodeSchema>;

export const pairedBrowserSchema = namedObject('PairedBrowser', {
  id: pairedBrowserIdSchema,
  name: z.string(),
  created_at: instantSchema,
  last_used_at: instantSchema.nullable().meta({ description: 'Updated at most once an hour.' }),
});
export type PairedBrowser = z.output<typeof pairedBrowserSchema>;

/** What a browser sends to be paired. */
export const pairRequestSchema = namedObject('PairRequest', {
  code: z.string().max(20).meta({ description: 'The code. Case, spaces and hyphens do not count.' }),
  name: text(0, MAX_NAME)
    .default('')
    .meta({ description: 'How the owner recognizes the browser in the list.' }),
});

/** The token of a browser that was just paired. The node stores only its digest. */
export const pairedSchema = namedObject('Paired', {
  id: pairedBrowserIdSchema,
  token: z.string(),
  node: z.string(),
});
export type Paired = z.output<typeof pairedSchema>;

/** Everything that a paired browser can read: which node it is, and the cases that a page can be put into. */
export const pairStateSchema = namedObject('PairState', {
  node: z.string(),
  browser: pairedBrowserSchema
    .pick({ id: true, name: true })
    .nullable()
    .meta({ description: 'Null if the owner asks.' }),
  cases: z
    .array(z.strictObject({ id: z.string(), title: z.string() }))
    .meta({ description: 'The newest 200 cases.' }),
});
export type PairState = z.output<typeof pairStateSchema>;

export const pairChallengeSchema = z.strictObject({
  challenge: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'A challenge is 64 hex digits.')
    .meta({ description: '32 random bytes in hex, new for each request.' }),
});

export const pairProofSchema = namedObject('PairProof', {
  proof: digestSchema.meta({
    description:
      'HMAC-SHA-256 of the challenge, as text, under the SHA-256 of the token. Only a node that knows the token’s digest can make it.',
  }),
  session: digestSchema.meta({
    description:
      '32 random bytes in hex, new at each start of the node. `browser-<id>-<mac>` is accepted like the token until the node ends; `mac` is the HMAC-SHA-256 of `session <session>` under the SHA-256 of the token.',
  }),
});
export type PairProof = z.output<typeof pairProofSchema>;

/** Returns a code as it is compared: in capitals, without separators, with digits in place of letters that look alike. */
export function plainPairingCode(typed: string): string {
  return typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
}
