import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Finding, FindingTarget } from '../../../../../shared/findings/finding.ts';
import { useIsOwner } from '../../../state/session.ts';
import { TimeText } from '../../data/TimeText.tsx';
import { AddToCase } from './AddToCase.tsx';
import { FindingDialog } from './FindingDialog.tsx';
import classes from './Findings.module.css';
import { WithdrawDialog } from './WithdrawDialog.tsx';

export interface FindingCardProps {
  finding: Finding;
  /** Whether the card says what the finding is about. */
  withTarget?: boolean;
  /** Further actions of the owner. */
  children?: ReactNode;
}

const KIND_LABELS: Record<FindingTarget['kind'], string> = { event: 'Event', object: 'Object', pack: 'Pack' };

/** A finding: the quoted passage, the text, the tags, and where it is recorded. */
export function FindingCard({ finding, withTarget = false }: FindingCardProps) {
  const isOwner = useIsOwner();
  const { id, at, text, tags, passage, target, target_name, ledger_entry } = finding;
  const { withdrawal, superseded_by } = finding;
  const isCurrent = withdrawal === null && superseded_by === null;
  return (
    <article className={classes.card} aria-label={`Finding about ${target_name}`}>
      {withTarget && (
        <p className={classes.target}>
          <span className="muted">{KIND_LABELS[target.kind]}</span>{' '}
          <Link to={addressOf(target)}>
            {target.kind === 'object' ? target.id.slice(0, 12) : target_name}
          </Link>
        </p>
      )}
      {passage && (
        <blockquote className={classes.quote}>
          {passage.exact}
          {passage.page !== null && <span className="muted small"> (page {passage.page})</span>}
        </blockquote>
      )}
      {withdrawal === null ? (
        <p className={classes.text}>{text}</p>
      ) : (
        <p className={classes.text}>
          <strong>Withdrawn:</strong> {withdrawal}
        </p>
      )}
      {tags.length > 0 && (
        <ul className={classes.tags} aria-label="Tags">
          {tags.map((tag) => (
            <li key={tag}>
              <Link to={`/findings?tag=${encodeURIComponent(tag)}`}>{tag}</Link>
            </li>
          ))}
        </ul>
      )}
      <div className={classes.foot}>
        <span className="muted small">
          <TimeText at={at} />, <Link to={`/ledger?from=${ledger_entry}`}>entry {ledger_entry}</Link>
          {superseded_by !== null && (
            <>
              , <Link to={`/findings?state=all&q=${superseded_by}`}>superseded</Link>
            </>
          )}
          {finding.supersedes !== null && (
            <>
              , <Link to={`/findings?state=all&q=${finding.supersedes}`}>earlier version</Link>
            </>
          )}
        </span>
        {isOwner && isCurrent && <Actions finding={finding} />}
        {isOwner && !isCurrent && <AddToCase item={{ kind: 'finding', id }} size="compact-xs" />}
      </div>
    </article>
  );
}

function Actions({ finding }: { finding: Finding }) {
  const [isEditing, editing] = useDisclosure(false);
  const [isWithdrawing, withdrawing] = useDisclosure(false);
  const sha256 = finding.passage?.sha256 ?? null;
  // The dialog keeps its form while it closes.
  const [objects] = useState(sha256 === null ? [] : [{ sha256, name: 'Object' }]);
  return (
    <span className={classes.actions}>
      <Button variant="subtle" size="compact-xs" onClick={editing.open}>
        New version
      </Button>
      <Button variant="subtle" size="compact-xs" onClick={withdrawing.open}>
        Withdraw
      </Button>
      <AddToCase item={{ kind: 'finding', id: finding.id }} size="compact-xs" />
      <FindingDialog
        opened={isEditing}
        onClose={editing.close}
        target={finding.target}
        objects={objects}
        quote=""
        superseded={finding}
      />
      <WithdrawDialog finding={finding} opened={isWithdrawing} onClose={withdrawing.close} />
    </span>
  );
}

/** The page of what a finding is about. */
function addressOf({ kind, id }: FindingTarget): string {
  return { event: '/timeline/', object: '/view/', pack: '/packs/' }[kind] + id;
}
