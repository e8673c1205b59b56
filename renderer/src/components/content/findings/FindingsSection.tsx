import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconNote } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { FindingTarget } from '../../../../../shared/findings/finding.ts';
import { useCall } from '../../../api/useCall.ts';
import { useIsOwner } from '../../../state/session.ts';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { Section } from '../../layout/Section.tsx';
import { FindingCard } from './FindingCard.tsx';
import { FindingDialog } from './FindingDialog.tsx';
import classes from './Findings.module.css';
import type { QuotedObject } from './findPassage.ts';

const MAX_SHOWN = 100;

export interface FindingsSectionProps {
  target: FindingTarget;
  /** The objects that a passage may be quoted from, the most likely first. */
  objects: readonly QuotedObject[];
}

/** The findings about an event, an object or a pack. The owner can add one, with the selected text as its passage. */
export function FindingsSection({ target, objects }: FindingsSectionProps) {
  const isOwner = useIsOwner();
  const query = { [target.kind]: target.id, limit: MAX_SHOWN };
  const { data, error, refetch } = useCall('listFindings', { query });
  if (!isOwner && (!data || data.total === 0)) return null;
  return (
    <Section title="Findings" actions={isOwner && <AddFinding target={target} objects={objects} />}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.total === 0 && (
        <p className="muted">
          No findings yet. To quote a passage, select it on this page, then choose “Add a finding”.
        </p>
      )}
      <div className={classes.list}>
        {data?.items.map((finding) => (
          <FindingCard key={finding.id} finding={finding} />
        ))}
      </div>
      {data?.next && (
        <p className="muted small">
          The newest {MAX_SHOWN} findings are shown. <Link to="/findings">All findings</Link>
        </p>
      )}
    </Section>
  );
}

function AddFinding({ target, objects }: FindingsSectionProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const [quote, setQuote] = useState('');
  // A click may clear the selection before it is handled.
  const [pressed, setPressed] = useState('');
  const open = () => {
    setQuote(selectedText() || pressed);
    setPressed('');
    dialog.open();
  };
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconNote size={17} aria-hidden />}
        onPointerDown={() => setPressed(selectedText())}
        onClick={open}
      >
        Add a finding
      </Button>
      <FindingDialog opened={isOpen} onClose={dialog.close} target={target} objects={objects} quote={quote} />
    </>
  );
}

function selectedText(): string {
  return window.getSelection()?.toString().trim() ?? '';
}
