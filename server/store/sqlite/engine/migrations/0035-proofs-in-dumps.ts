import type { Migration } from '../migration.ts';

/**
 * What others say of the ledger goes into dumps and copies. `cosignatures.origin` is the name of the log in the checkpoint
 * that was cosigned: after a restore the node has another name, and the line of a witness is only valid with the old one.
 * `copies.synced_proofs` describes the timestamps and cosignatures that the copy has; see `proofsState`.
 */
export const migration: Migration = {
  number: 35,
  sql: `
ALTER TABLE cosignatures ADD COLUMN origin TEXT NOT NULL DEFAULT '';
UPDATE cosignatures SET origin = coalesce(
  (SELECT substr(value ->> '$', 1, instr(value ->> '$', '+') - 1) FROM settings WHERE name = 'verifier_key'), '');
ALTER TABLE copies ADD COLUMN synced_proofs TEXT NOT NULL DEFAULT '';
`,
};
