import { z } from 'zod';
import { REPOSITORY_KINDS, recordedDepositSchema } from '../../../shared/node/deposit.ts';
import type { PackProvenance } from '../../../shared/node/peer.ts';
import { recordDeposit } from '../../archive/packs/packRows.ts';
import { depositDigest } from '../../archive/recordedSubjects.ts';
import { countPackDeposits, packDepositAt } from '../../store/sqlite/archive/deposits.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { insertProvenance, provenanceOf } from '../../store/sqlite/node/peers.ts';
import { listOf } from '../peerClient.ts';
import { RefusedRecordError, refusalOf } from './mirrorTally.ts';
import { coveredItems, type Mirroring } from './remoteLog.ts';

const listedDeposit = z.looseObject({ ledger_entry: z.int().min(1), repository: z.string() });
type ListedDeposit = z.output<typeof listedDeposit>;
const depositList = z.object({ items: listOf(listedDeposit) });
const depositOf = z.object(recordedDepositSchema.shape);
const KINDS: ReadonlySet<string> = new Set(REPOSITORY_KINDS);
/** Each is an entry that stays for good and is shown with the pack, so a peer cannot add any number. */
const MAX_OF_PACK = 20;

/**
 * Takes where the peer's ledger says that packs were published, of the packs that came from this ledger: what a peer says of
 * other packs would be cited here without any reason to believe it.
 *
 * @throws PeerError; the signal's reason
 */
export async function followDeposits(mirroring: Mirroring): Promise<void> {
  const { tally } = mirroring;
  for await (const item of coveredItems(mirroring, '/api/deposits', depositList)) {
    if (tally.shouldStop) return;
    try {
      if (await takeDeposit(mirroring, item)) tally.deposits += 1;
    } catch (error) {
      tally.refuse(refusalOf(error));
    }
  }
}

/** Returns whether the deposit is new here. @throws RefusedRecordError; PeerError */
async function takeDeposit(mirroring: Mirroring, listed: ListedDeposit): Promise<boolean> {
  const { store, log } = mirroring;
  // A peer of a later version knows more kinds.
  if (!KINDS.has(listed.repository)) return false;
  const { data: deposit } = depositOf.safeParse(listed);
  if (!deposit) throw new RefusedRecordError('wrong_record');
  const pack = packById(store.read, deposit.pack);
  if (!pack || packDepositAt(store.read, pack.id, deposit.url) !== undefined) return false;
  const origin = provenanceOf(store.read, pack.ledger_entry) as PackProvenance | undefined;
  if (!origin || origin.entry.seq > log.size) return false;
  // The keys may differ: the peer may have renewed its key since.
  const { entry: ofPack } = await log.entry(origin.entry.seq);
  if (ofPack.hash !== origin.entry.hash) return false;
  if (countPackDeposits(store.read, pack.id) >= MAX_OF_PACK) throw new RefusedRecordError('too_large');
  const { entry, proof } = await log.requireEntry(listed.ledger_entry, {
    type: 'pack.deposited',
    subject: deposit.pack,
    digest: depositDigest(deposit),
  });
  const provenance = { entry, proof, checkpoint: log.note, ...mirroring.provenance() };
  return store.write((database) => {
    const { entry: seq, isNew } = recordDeposit(database, deposit, store.instant());
    if (isNew) insertProvenance(database, seq, provenance);
    return isNew;
  });
}
