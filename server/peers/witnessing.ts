import { type Settings, settingsSchema } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { isVerifierKey } from '../ledger/checkpoint.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import { parseCosignerKey } from '../ledger/witness/cosignature.ts';
import type { SettingsStore } from '../store/settings.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { insertWitnessedLog, removeWitnessedLog, witnessedLog } from '../store/sqlite/node/ledger.ts';
import { type PeerClient, PeerError } from './peerClient.ts';

const MAX_KEY_BYTES = 1_000;

type Witnesses = Settings['witnesses'];

/** Returns whether this node cosigns the checkpoints of the log with this key. */
export function isCosigned(database: ReadDatabase, key: string): boolean {
  const log = witnessedLog(database, keyNameOf(key));
  return log !== undefined && log.removed_at === null && log.key === key;
}

/**
 * Starts or ends cosigning the checkpoints of a peer, inside the caller's transaction. A log that was cosigned with another
 * key stays as it is, because the keys of a log do not change unnoticed.
 *
 * @throws Problem `key_mismatch` in that case
 */
export function setCosigned(
  database: WriteDatabase,
  key: string,
  { cosign, at }: { cosign: boolean; at: string },
): void {
  const origin = keyNameOf(key);
  if (!cosign) {
    if (isCosigned(database, key)) removeWitnessedLog(database, { origin, removed_at: at });
    return;
  }
  const known = witnessedLog(database, origin);
  if (!isVerifierKey(key) || (known && known.key !== key))
    throw new Problem(
      'key_mismatch',
      'This node cosigned that ledger with another key before. Add the peer without cosigning its checkpoints.',
    );
  insertWitnessedLog(database, origin, key, at);
}

/** The address of a peer as a witness. */
function witnessUrl(url: string): string {
  return `${url}/witness`;
}

/** Returns whether the peer at an address is asked to cosign the checkpoints of this node. */
export function isAsked({ witnesses }: Settings, url: string): boolean {
  return witnesses.some((witness) => witness.url === witnessUrl(url));
}

/** Reads the key with which a peer cosigns. @throws PeerError */
export async function readWitnessKey(client: PeerClient): Promise<string> {
  const key = (await client.text('/witness/key', MAX_KEY_BYTES)).trim();
  if (!parseCosignerKey(key)) throw new PeerError('failing', 'The node does not provide a witness key.');
  return key;
}

/** The witnesses with the peer at an address among them. @throws Problem `invalid_field` if the settings take no more */
export function withWitness({ witnesses }: Settings, { url, key }: { url: string; key: string }): Witnesses {
  const others = witnesses.filter((witness) => witness.key !== key);
  const checked = settingsSchema.shape.witnesses.safeParse([...others, { url: witnessUrl(url), key }]);
  if (checked.success) return checked.data;
  const message = `The peer cannot be asked to cosign: ${checked.error.issues[0]?.message ?? ''}`;
  throw new Problem('invalid_field', message, { errors: [{ path: '/ask_to_cosign', message }] });
}

/** Adds the peer at an address to the witnesses in the settings. It cosigns with `key`. */
export async function addAsWitness(
  settings: SettingsStore,
  witness: { url: string; key: string },
): Promise<void> {
  await settings.update((before) => ({ witnesses: withWitness(before, witness) }));
}

/** Removes the peer at an address from the witnesses in the settings. */
export async function removeAsWitness(settings: SettingsStore, url: string): Promise<void> {
  if (!isAsked(settings.current, url)) return;
  await settings.update(({ witnesses }) => ({
    witnesses: witnesses.filter((witness) => witness.url !== witnessUrl(url)),
  }));
}

/** Follows a peer that moved. */
export async function moveWitness(
  settings: SettingsStore,
  { from, to }: { from: string; to: string },
): Promise<void> {
  if (!isAsked(settings.current, from)) return;
  await settings.update(({ witnesses }) => ({
    witnesses: witnesses.map((witness) =>
      witness.url === witnessUrl(from) ? { ...witness, url: witnessUrl(to) } : witness,
    ),
  }));
}
