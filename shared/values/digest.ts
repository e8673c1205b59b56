import { z } from 'zod';
import { DIGEST_PATTERN, isDigest } from './digestPattern.ts';

export { DIGEST_PATTERN, isDigest };

/** A SHA-256 digest as 64 lowercase hex digits. */
export const digestSchema = z
  .string()
  .regex(DIGEST_PATTERN, 'A digest is 64 lowercase hex digits.')
  .meta({ id: 'Digest', description: 'A SHA-256 digest: 64 lowercase hex digits' });

/** The number of digits of a digest that an id has after its prefix. */
export const ID_DIGITS = 20;

export const packIdSchema = z.string().regex(/^pk_[0-9a-f]{20}$/, 'A pack id is pk_ and 20 hex digits.');
export const studyIdSchema = z.string().regex(/^st_[0-9a-f]{20}$/, 'A study id is st_ and 20 hex digits.');
export const sourceIdSchema = z.string().regex(/^so_[0-9a-f]{20}$/, 'A source id is so_ and 20 hex digits.');
export const pageIdSchema = z
  .string()
  .regex(/^pg_[0-9a-f]{20}$/, 'The id of a page capture is pg_ and 20 hex digits.');
export const handInIdSchema = z
  .string()
  .regex(/^hi_[0-9a-f]{20}$/, 'The id of what was handed in is hi_ and 20 hex digits.');
/** What a retrieval can be part of. */
export const partOfSchema = z.union([pageIdSchema, handInIdSchema]);

/** The id of a peer: another node that this one takes packs and captures from. */
export const peerIdSchema = z.string().regex(/^pe_[0-9a-f]{20}$/, 'A peer id is pe_ and 20 hex digits.');

/** The verifier key of a node. */
export const verifierKeySchema = z
  .string()
  .regex(/^[^\s+]{1,100}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{44}$/, 'A key is name+hash+key, as in /api/ledger/key.')
  .meta({ description: 'A verifier key as C2SP signed-note writes it: name+hash+key' });
