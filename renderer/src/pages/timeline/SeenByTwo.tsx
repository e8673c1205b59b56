import { UnstyledButton } from '@mantine/core';
import { IconCircleCheck, IconCircleX, IconPlugConnectedX, type TablerIcon } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import {
  type Agreement,
  blocksOf,
  type DifferingBlocks,
  type EventDetails,
  type SeenBy,
} from '../../../../shared/collection/event.ts';
import { failureWords } from '../../../../shared/collection/retrievalWords.ts';
import { useCall } from '../../api/useCall.ts';
import { IfReadable } from '../../components/content/Withheld.tsx';
import { HealthLine, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format.ts';

const AGREEMENTS: Record<Agreement, { words: string; Icon: TablerIcon; health: 'well' | 'bad' }> = {
  same_bytes: { words: 'the same bytes', Icon: IconCircleCheck, health: 'well' },
  same_text: { words: 'the same text', Icon: IconCircleCheck, health: 'well' },
  differs: { words: 'something else', Icon: IconCircleX, health: 'bad' },
  unreachable: { words: 'nothing', Icon: IconPlugConnectedX, health: 'bad' },
};

/** Peers that fetched the address of an event at the same time; nothing if there are none. */
export function SeenByTwo({ event: { seen_by, sha256 } }: { event: EventDetails }) {
  if (seen_by.length === 0) return null;
  return (
    <section className="stack gap-2" aria-label="Seen at the same moment">
      <h2>Seen at the same moment</h2>
      <ul className="plain stack gap-4">
        {seen_by.map((seen) => (
          <li key={seen.ledger_entry} className="stack gap-1">
            <Seen seen={seen} />
            {seen.blocks && seen.blocks.only_ours.length > 0 && sha256 !== null && (
              <IfReadable of={[{ sha256 }]}>
                <Blocks sha256={sha256} blocks={seen.blocks} />
              </IfReadable>
            )}
          </li>
        ))}
      </ul>
      <p className="small muted">
        A peer signs what it got. The request fixes this node’s result and does not tell it. That the peer
        fetched the address itself, only the peer states.
      </p>
    </section>
  );
}

function Seen({ seen }: { seen: SeenBy }) {
  const { name, agreement, fetched_at, status, error, blocks, ledger_entry } = seen;
  const { words, Icon, health } = AGREEMENTS[agreement];
  return (
    <>
      <HealthLine health={health} icon={Icon}>
        {name} got <strong>{words}</strong>
      </HealthLine>
      <p className="small">
        {error !== null && `${failureWords(error, status)}. `}
        {blocks && `${blockWords(blocks)} `}
        Fetched there <TimeText at={fetched_at} show="exact" />.{' '}
        <Link to={`/ledger#${ledger_entry}`}>Ledger entry {ledger_entry}</Link>
      </p>
    </>
  );
}

function blockWords({ ours, only_ours_count, only_theirs_count }: DifferingBlocks): string {
  if (only_ours_count + only_theirs_count === 0)
    return 'The same blocks of text, in another order or number.';
  return `Of ${countOf(ours, 'block')} of text here, ${only_ours_count} did not come there. ${only_theirs_count} came only there.`;
}

/** The blocks of text that only this node got. */
function Blocks({ sha256, blocks }: { sha256: string; blocks: DifferingBlocks }) {
  const [opened, setOpened] = useState(false);
  const { data, error } = useCall('readObjectText', { params: { sha256 } }, { enabled: opened });
  const all = data ? blocksOf(data.text) : [];
  const { only_ours, only_ours_count } = blocks;
  return (
    <div className="stack items-start gap-1 compact">
      <UnstyledButton className="small accent" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {opened ? 'Hide what came only here' : 'Show what came only here'}
      </UnstyledButton>
      {opened && error && <ErrorNote error={error} />}
      {opened && data && (
        <>
          <ul className="bullets stack gap-1 wrap-anywhere">
            {only_ours.map((number) => (
              <li key={number}>{all[number - 1] ?? 'This block is not in the text as it is derived now.'}</li>
            ))}
          </ul>
          {only_ours_count > only_ours.length && (
            <p className="small muted">And {countOf(only_ours_count - only_ours.length, 'more block')}.</p>
          )}
        </>
      )}
    </div>
  );
}
