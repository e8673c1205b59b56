import { type KeyObject, sign } from 'node:crypto';
import {
  type KeyChange,
  type KeyRenewal,
  keyChangeSchema,
  type Rollback,
  renewalText,
} from '../../shared/ledger/ledger.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  allKeyChanges,
  insertKeyChange,
  type KeyChangeRow,
  keyChangesPage,
} from '../store/sqlite/node/ledger.ts';
import { writeSetting } from '../store/sqlite/node/owner.ts';
import type { Store } from '../store/store.ts';
import { appendEntry, endReadOnly } from './appendEntry.ts';
import { fingerprintOf } from './entry.ts';
import type { RecordedSubjects } from './verifyLedger.ts';

/** A change of the node's key that is not in the ledger yet. */
export type NewKeyChange =
  | { type: 'key.renewed'; record: KeyRenewal }
  | { type: 'ledger.rolled_back'; record: Rollback };

/** Records a change of the node's key and makes the new key current, inside the caller's transaction. */
export function recordKeyChange(database: WriteDatabase, { type, record }: NewKeyChange): void {
  const { new_key: subject, at } = record;
  endReadOnly(database);
  const { seq } = appendEntry(database, { type, subject, digest: fingerprintOf(record), at });
  insertKeyChange(database, { ledger_entry: seq, type, record });
  writeSetting(database, 'verifier_key', subject);
}

/** Returns a page of the node's key changes, newest first. */
export function listKeyChanges(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): Slice<KeyChange> {
  const { items, total } = keyChangesPage(read, page);
  return { items: items.map(asKeyChange), total };
}

/** Returns all changes of the node's key, in ledger order. */
export function readKeyChanges(database: ReadDatabase): KeyChange[] {
  return allKeyChanges(database).map(asKeyChange);
}

function asKeyChange({ type, ledger_entry, record }: KeyChangeRow): KeyChange {
  return keyChangeSchema.parse({ type, ledger_entry, ...(record as object) });
}

/** Signs the new key with the old one; the signature is in base64. */
export function signRenewal(oldKey: KeyObject, oldVerifierKey: string, newVerifierKey: string): string {
  return sign(null, Buffer.from(renewalText(oldVerifierKey, newVerifierKey)), oldKey).toString('base64');
}

/** Recomputes the recorded digests of key changes for the verification of the ledger. */
export const KEY_SUBJECTS: readonly RecordedSubjects[] = (['key.renewed', 'ledger.rolled_back'] as const).map(
  (type) => ({
    types: [type],
    *digests(database) {
      for (const change of allKeyChanges(database))
        if (change.type === type) yield { seq: change.ledger_entry, digest: fingerprintOf(change.record) };
    },
  }),
);
