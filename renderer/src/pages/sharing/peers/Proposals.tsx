import { useState } from 'react';
import { Link } from 'react-router';
import type { Peer, PeerProposal, ProposalDecision } from '../../../../../shared/node/peer.ts';
import { RELEASED_REASON_TEXT } from '../../../../../shared/node/withheld.ts';
import { useCall, useSave } from '../../../api/useCall.ts';
import { Pager } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { ItemButton } from '../../../components/forms/buttons.tsx';
import { Section } from '../../../components/layout/Page.tsx';

const PAGE_SIZE = 20;

/** What a peer says of objects that this archive has otherwise, to be taken or left. Nothing if there is none. */
export function Proposals({ peer }: { peer: Peer }) {
  const [offset, setOffset] = useState(0);
  const list = useCall(
    'listPeerProposals',
    { params: { id: peer.id }, query: { limit: PAGE_SIZE, offset } },
    { keepPrevious: true, enabled: peer.proposals > 0 },
  );
  if (peer.proposals === 0) return null;
  return (
    <Section title="For you to decide">
      <p className="measure">
        This archive also has these from elsewhere, so what the peer says changes nothing here until you
        decide.
      </p>
      {list.error && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      <ul className="plain stack gap-3" aria-label="For you to decide">
        {list.data?.items.map((proposal) => (
          <Proposal key={proposal.number} peer={peer} proposal={proposal} />
        ))}
      </ul>
      <Pager
        what="proposals"
        total={list.data?.total ?? 0}
        limit={PAGE_SIZE}
        offset={offset}
        onOffset={setOffset}
      />
    </Section>
  );
}

function Proposal({ peer, proposal }: { peer: Peer; proposal: PeerProposal }) {
  const decide = useSave('decidePeerProposal', (decision: ProposalDecision) => ({
    params: { id: peer.id, number: String(proposal.number) },
    body: { decision },
  }));
  const { reason, note, at, name, sha256, pack, page } = proposal;
  const { said, take, leave } = wordsOf(proposal);
  const title = name ?? sha256 ?? pack ?? page ?? '';
  const to = pack !== null ? `/packs/${pack}` : page !== null ? `/pages/${page}` : undefined;
  return (
    <li className="card stack gap-2" aria-label={title}>
      <p className="wrap-anywhere">
        {to ? <Link to={to}>{title}</Link> : <a href={`/archive/${sha256}`}>{title}</a>}
      </p>
      <p className="small">
        The peer {said} since <TimeText at={at} />. Reason: {RELEASED_REASON_TEXT[reason]}.
      </p>
      {note && <p className="small muted wrap-anywhere">Its note: {note}</p>}
      {decide.error && <ErrorNote error={decide.error} />}
      <div className="cluster gap-2">
        <ItemButton
          label={take}
          of={title}
          loading={decide.isPending}
          onClick={() => decide.mutate('take')}
        />
        <ItemButton
          label={leave}
          of={title}
          loading={decide.isPending}
          onClick={() => decide.mutate('leave')}
        />
      </div>
    </li>
  );
}

function wordsOf({ kind }: PeerProposal): { said: string; take: string; leave: string } {
  if (kind === 'shown') return { said: 'shows this again', take: 'Show again', leave: 'Leave withheld' };
  const said = kind === 'withheld' ? 'withholds this' : 'has given up these bytes';
  return { said, take: 'Withhold here', leave: 'Leave' };
}
