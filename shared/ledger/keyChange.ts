import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { instantSchema } from '../values/text.ts';

const verifierKey = z
  .string()
  .meta({ description: 'A verifier key as C2SP signed-note writes it: name+hash+key' });

/** A head of the ledger, as far as it is known: of a lost one there may be only a checkpoint, which has no hash. */
const knownHead = z.strictObject({
  seq: z.int().min(0).nullable(),
  hash: digestSchema.nullable(),
  root: digestSchema.nullable(),
});
export type KnownHead = z.output<typeof knownHead>;

/** What `key.renewed` records. */
export const keyRenewalSchema = z.strictObject({
  at: instantSchema,
  old_key: verifierKey,
  new_key: verifierKey,
  /** By the old key over the text of the renewal, in base64; null where the old key was lost. */
  signature: z.string().nullable(),
});
export type KeyRenewal = z.output<typeof keyRenewalSchema>;

/** What `ledger.rolled_back` records. */
export const rollbackSchema = z.strictObject({
  at: instantSchema,
  /** How far the ledger went before. */
  from: knownHead,
  /** Where the database ended that was gone on with. */
  to: knownHead,
  old_key: verifierKey.nullable(),
  new_key: verifierKey,
});
export type Rollback = z.output<typeof rollbackSchema>;

export const keyChangeSchema = z
  .discriminatedUnion('type', [
    keyRenewalSchema.extend({ type: z.literal('key.renewed'), ledger_entry: z.int().min(1) }),
    rollbackSchema.extend({ type: z.literal('ledger.rolled_back'), ledger_entry: z.int().min(1) }),
  ])
  .meta({ id: 'KeyChange' });
export type KeyChange = z.output<typeof keyChangeSchema>;

/**
 * The text that the old key signs when a node's key is renewed. Its second line is no number, so that no checkpoint is
 * this text.
 */
export function renewalText(oldKey: string, newKey: string): string {
  return `strongroom.key.renewed\n${oldKey}\n${newKey}\n`;
}

/** What `key.certified` records: a key by which the node signs packages. Its subject is the public key. */
export function certifiedKeyRecord(publicKey: string) {
  return { algorithm: 'ECDSA P-384', public_key: publicKey, use: 'wacz' };
}
