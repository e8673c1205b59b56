import type { PeerProposal, ProposalDecision } from '../../shared/node/peer.ts';
import { Problem } from '../../shared/problems.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { selectValue } from '../store/sqlite/engine/queries.ts';
import {
  decideProposal,
  deletePeerWord,
  openProposals,
  type ProposalRow,
  proposalByNumber,
  subjectAround,
} from '../store/sqlite/node/peerOrigins.ts';
import type { PeerRow } from '../store/sqlite/node/peers.ts';
import { withholdingByEntry } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { showNow, targetOf, withholdNow } from '../withholding/withholding.ts';
import { listedNote, noteOf } from './mirror/absent.ts';

/** What a person knows the target of a proposal by. */
const nameOf = selectValue<string, [target: Pick<ProposalRow, 'sha256' | 'pack' | 'page'>]>(`
  SELECT coalesce(
    (SELECT r.record ->> 'title' FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry WHERE p.id = $pack),
    (SELECT record ->> 'url' FROM page_captures WHERE id = $page),
    (SELECT url FROM retrievals WHERE sha256 = $sha256 LIMIT 1),
    (SELECT path FROM pack_files WHERE sha256 = $sha256 LIMIT 1))`);

/** Lists what a peer says of objects that this archive has otherwise, and the owner has not decided, newest first. */
export function listProposals(read: ReadDatabase, peer: string): PeerProposal[] {
  return openProposals(read, peer).map((row) => asProposal(read, row));
}

function asProposal(read: ReadDatabase, row: ProposalRow): PeerProposal {
  const { peer: _peer, subject: _subject, withholding, sha256, pack, page, ...proposal } = row;
  const name = nameOf(read, { sha256, pack, page }) ?? null;
  const is_withheld = withholding !== null && withholdingByEntry(read, withholding) !== undefined;
  return { ...proposal, sha256, pack, page, name, is_withheld };
}

interface Decision {
  peer: Pick<PeerRow, 'id' | 'key'>;
  number: number;
  decision: ProposalDecision;
}

/**
 * Takes or leaves a proposal. What is withheld because the owner takes it is his own decision: it stays when the peer shows
 * it again, and when the peer is removed.
 *
 * @throws Problem `not_found` if there is no such proposal, or it is decided; `released`, `unknown_target`
 */
export function decideOn(store: Store, { peer, number, decision }: Decision): Promise<PeerProposal> {
  return store.write((database) => {
    const row = proposalByNumber(database, { peer: peer.id, number });
    if (row?.decision !== null)
      throw new Problem('not_found', `There is no proposal ${number} of this peer that waits for you.`);
    const withholding = applied(database, row, { peer, decision }, store.instant());
    decideProposal(database, { number, decision, withholding });
    return asProposal(database, { ...row, decision, withholding });
  });
}

/** Does what was decided. Returns the withholding that is in force because of it. */
function applied(
  database: WriteDatabase,
  row: ProposalRow,
  { peer, decision }: Pick<Decision, 'peer' | 'decision'>,
  at: string,
): number | null {
  const inForce = row.withholding === null ? undefined : withholdingByEntry(database, row.withholding);
  const isShown = row.kind === 'shown' ? decision === 'take' : decision === 'leave';
  if (inForce) {
    deletePeerWord(database, inForce.ledger_entry);
    if (!isShown) return inForce.ledger_entry;
    showNow(database, targetOf(inForce), at);
    return null;
  }
  if (isShown || row.kind === 'shown') return null;
  const { reason, kind, sha256, pack, page } = row;
  const target = Object.fromEntries(
    Object.entries({ sha256, pack, page }).filter(([, value]) => value !== null),
  );
  const name = keyNameOf(peer.key);
  // What only a list names has its digest behind the subject of the entry.
  const isListed = kind === 'withheld' && row.subject !== subjectAround(row.subject);
  const note = isListed ? listedNote(name) : noteOf(name, kind);
  return withholdNow(database, { ...target, reason, note }, at).withholding.ledger_entry;
}
