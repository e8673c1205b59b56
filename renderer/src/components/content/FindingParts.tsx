import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLock, IconLockOpen } from '@tabler/icons-react';
import { Link } from 'react-router';
import {
  ADD_EARLIER_KEY,
  type Finding,
  type FindingTarget,
  type SealedFinding,
} from '../../../../shared/findings/finding.ts';
import { useIsOwner } from '../../state/session.ts';
import { DigestChip, TimeText } from '../data/Values.tsx';
import { DialogForm, FormDialog, type FormDialogControls, useItemForm } from '../forms/DialogForm.tsx';
import classes from './content.module.css';

const KIND_LABELS: Record<FindingTarget['kind'], string> = { event: 'Event', object: 'Object', pack: 'Pack' };

/** The page of what a finding is about. */
function addressOf({ kind, id }: FindingTarget): string {
  return { event: '/timeline/', object: '/view/', pack: '/packs/' }[kind] + id;
}

/** What a finding is about, with a link to it. */
export function TargetLine({ target, name }: { target: FindingTarget; name: string }) {
  return (
    <p className="compact wrap-anywhere">
      <span className="muted">{KIND_LABELS[target.kind]}</span>{' '}
      <Link to={addressOf(target)}>{target.kind === 'object' ? target.id.slice(0, 12) : name}</Link>
    </p>
  );
}

export function PassageQuote({ passage }: Pick<Finding, 'passage'>) {
  if (!passage) return null;
  return (
    <blockquote className={`${classes.quote} scroll serif muted keep-lines wrap-anywhere`}>
      {passage.exact}
      {passage.page !== null && <span className="muted small"> (page {passage.page})</span>}
    </blockquote>
  );
}

/** The tags of a finding. Those of a sealed one find nothing, so they are no links. */
export function TagList({ tags, isLinked = true }: { tags: readonly string[]; isLinked?: boolean }) {
  if (tags.length === 0) return null;
  return (
    <ul className="cluster stretch gap-3 plain small wrap-anywhere" aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag}>
          {isLinked ? <Link to={`/findings?tag=${encodeURIComponent(tag)}`}>{tag}</Link> : tag}
        </li>
      ))}
    </ul>
  );
}

/** The seal of a finding: since when, and the commitment. */
export function SealLine({
  at,
  commitment,
  isRevealed = false,
}: Pick<SealedFinding['sealed'], 'at' | 'commitment'> & { isRevealed?: boolean }) {
  const Icon = isRevealed ? IconLockOpen : IconLock;
  return (
    <p className={`${classes.seal} muted small`}>
      <Icon size={15} aria-hidden />
      <span>
        {isRevealed ? 'Revealed. Was sealed on' : 'Sealed since'} <TimeText at={at} show="exact" />.
        Commitment: <DigestChip digest={commitment} label="commitment" />
      </span>
    </p>
  );
}

/** A finding that is sealed: to visitors, that it is; to its owner, what it says. */
export function SealedCard({ finding, withTarget }: { finding: SealedFinding; withTarget: boolean }) {
  const isOwner = useIsOwner();
  const { text, target, target_name, tags = [], passage = null, ledger_entry, sealed } = finding;
  return (
    <article className={`${classes.finding} stack gap-2 sheet`} aria-label={`Sealed finding ${finding.id}`}>
      <SealLine {...sealed} />
      {withTarget && target && <TargetLine target={target} name={target_name ?? target.id} />}
      <PassageQuote passage={passage} />
      {text === undefined ? (
        <p className="muted measure">
          {isOwner
            ? `The record is encrypted to a key that this node does not have. ${ADD_EARLIER_KEY}`
            : 'What it says is not public yet.'}
        </p>
      ) : (
        <p className="measure keep-lines wrap-anywhere">{text}</p>
      )}
      <TagList tags={tags} isLinked={false} />
      <div className="cluster between gap-4">
        <span className="muted small">
          <Link to={`/ledger?from=${ledger_entry}`}>Entry {ledger_entry}</Link>
          {text !== undefined && ', only you can read this'}
        </span>
        {isOwner && text !== undefined && <Reveal finding={finding} />}
      </div>
    </article>
  );
}

function Reveal({ finding }: { finding: SealedFinding }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <span className={classes.actions}>
      <Button variant="subtle" size="compact-xs" onClick={dialog.open}>
        Reveal
      </Button>
      <FormDialog opened={isOpen} onClose={dialog.close} title="Reveal finding?" size="md">
        {(controls) => <RevealForm finding={finding} {...controls} />}
      </FormDialog>
    </span>
  );
}

function RevealForm({ finding, onDone, ...controls }: { finding: SealedFinding } & FormDialogControls) {
  const { id, text, tags = [], passage } = finding;
  const { form, save } = useItemForm({
    route: 'revealFinding',
    initialValues: {},
    request: () => ({ params: { id } }),
    onSaved: onDone,
  });
  const parts = [
    'the text',
    ...(passage ? ['the quoted passage'] : []),
    ...(tags.length > 0 ? ['the tags'] : []),
  ];
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Reveal">
      <p>
        Everyone who can read this archive, its dumps and its copies can then read {parts.join(', ')}, what
        the finding is about, and the salt of the commitment. This cannot be undone.
      </p>
      <p className={`${classes.quote} scroll keep-lines wrap-anywhere`}>{text}</p>
    </DialogForm>
  );
}
