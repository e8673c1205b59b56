import { Button, Group, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconFiles } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { DraftSummary } from '../../../../../shared/archive/draft.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes } from '../../../format/size.ts';
import { useDraft } from '../draft.ts';
import classes from './DraftsButton.module.css';
import { useDraftSaving } from './draftSaving.ts';

const MAX_SHOWN = 100;

/** Opens the list of the node's drafts, in which another one is continued or a new one is started. */
export function DraftsButton({ isEnabled }: { isEnabled: boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const show = () => {
    void queries.invalidateQueries({ queryKey: callKey('listDrafts') });
    open();
  };
  return (
    <>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconFiles size={17} aria-hidden />}
        onClick={show}
      >
        Drafts
      </Button>
      <Modal opened={isOpen} onClose={close} title="Drafts" size="lg">
        <DraftList onDone={close} />
      </Modal>
    </>
  );
}

function DraftList({ onDone }: { onDone: () => void }) {
  const current = useDraft(({ saved }) => saved?.id);
  const { open, startNew } = useDraftSaving();
  const [error, setError] = useState<unknown>();
  const drafts = useCall('listDrafts', { query: { limit: MAX_SHOWN } });
  const run = (work: Promise<void>) => work.then(onDone, setError);
  const failure = error ?? drafts.error ?? undefined;
  return (
    <div className={classes.drafts}>
      {failure !== undefined && <ErrorNote error={failure} />}
      {drafts.data?.total === 0 && <p className="muted">There are no drafts yet.</p>}
      <ul className={classes.list} aria-label="Drafts">
        {drafts.data?.items.map((draft) => (
          <DraftRow
            key={draft.id}
            draft={draft}
            isCurrent={draft.id === current}
            onOpen={() => void run(open(draft.id))}
          />
        ))}
      </ul>
      <Group justify="flex-end">
        <Button variant="default" disabled={current === undefined} onClick={() => void run(startNew())}>
          New draft
        </Button>
      </Group>
    </div>
  );
}

interface DraftRowProps {
  draft: DraftSummary;
  isCurrent: boolean;
  onOpen: () => void;
}

function DraftRow({ draft: { title, changed_at, counts }, isCurrent, onOpen }: DraftRowProps) {
  const name = title.trim() || 'Untitled';
  return (
    <li className={classes.row}>
      <div>
        <p className={classes.title}>{name}</p>
        <p className="muted small">
          {countOf(counts.files, 'file')}, {formatBytes(counts.bytes)}, changed <TimeText at={changed_at} />
        </p>
      </div>
      {isCurrent ? (
        <span className="muted small">Open now</span>
      ) : (
        <Button variant="default" size="xs" aria-label={`Open ${name}`} onClick={onOpen}>
          Open
        </Button>
      )}
    </li>
  );
}
