import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { httpUrlSchema, instantSchema } from '../values/text.ts';

/** A verifier key: `name+hash+key` (C2SP signed-note). The key is its type and 32 bytes. */
const KEY = /^[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/;
const verifierKeySchema = z.string().regex(KEY, 'Enter a verifier key: name+hash+key.');

/** A witness that cosigns this node's checkpoints. */
export const witnessSchema = z
  .strictObject({
    url: httpUrlSchema.meta({ description: 'The prefix: requests go to `<url>/add-checkpoint`' }),
    key: verifierKeySchema,
  })
  .meta({ id: 'Witness' });
export type Witness = z.output<typeof witnessSchema>;

/** What a witness of the settings cosigned. */
const witnessStateSchema = z
  .strictObject({
    url: z.string(),
    key: z.string(),
    /** The number of entries in the newest checkpoint that it cosigned; 0 if there is none. */
    size: z.int().min(0),
    /** When it cosigned that, by its own clock. */
    cosigned_at: instantSchema.nullable(),
    /** Why it did not cosign when it was last asked; null if it did or was not asked. */
    error: z.string().nullable(),
  })
  .meta({ id: 'WitnessState' });
export type WitnessState = z.output<typeof witnessStateSchema>;

export const witnessStatesSchema = z
  .strictObject({
    /** The number of entries in the ledger. */
    size: z.int().min(0),
    witnesses: z.array(witnessStateSchema),
  })
  .meta({ id: 'WitnessStates' });
export type WitnessStates = z.output<typeof witnessStatesSchema>;

export const newWitnessedLogSchema = z
  .strictObject({ key: verifierKeySchema })
  .meta({ id: 'NewWitnessedLog' });

/** A log whose checkpoints this node cosigns. */
export const witnessedLogSchema = z
  .strictObject({
    origin: z.string(),
    key: z.string(),
    added_at: instantSchema,
    size: z.int().min(0),
    /** In hex; null before the first checkpoint. */
    root: digestSchema.nullable(),
    cosigned_at: instantSchema.nullable(),
  })
  .meta({ id: 'WitnessedLog' });
export type WitnessedLog = z.output<typeof witnessedLogSchema>;

/** A checkpoint that a log signed and this node did not cosign, because it contradicts what was cosigned before. */
export const witnessRefusalSchema = z
  .strictObject({
    id: z.int(),
    origin: z.string(),
    at: instantSchema,
    /** The size of the checkpoint that was cosigned before, and the whole of it. */
    known_size: z.int().min(0),
    known_note: z.string().nullable(),
    size: z.int().min(0),
    /**
     * Whether this proves that the log has two histories: both checkpoints are of one size, and their roots differ.
     * If false, the consistency proof was invalid. The sender may have altered it.
     */
    is_proof: z.boolean(),
    /** The request as it was sent. */
    request: z.string(),
  })
  .meta({ id: 'WitnessRefusal' });
export type WitnessRefusal = z.output<typeof witnessRefusalSchema>;
