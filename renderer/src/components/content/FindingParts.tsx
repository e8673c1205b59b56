import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLock, IconLockOpen } from '@tabler/icons-react';
import { Link } from 'react-router';
import { findWords } from '../../../../shared/findings/anchor.ts';
import {
  ADD_EARLIER_KEY,
  type Finding,
  type FindingTarget,
  MAX_QUOTE_CHARACTERS,
  type NewFinding,
  type SealedFinding,
} from '../../../../shared/findings/finding.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { useIsOwner } from '../../state/session.ts';
import { DigestChip, TimeText } from '../data/Values.tsx';
import { DialogForm, FormDialog, useItemForm } from '../forms/DialogForm.tsx';
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
    <article className="card stack gap-2" aria-label={`Sealed finding ${finding.id}`}>
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
        <RevealForm finding={finding} />
      </FormDialog>
    </span>
  );
}

function RevealForm({ finding }: { finding: SealedFinding }) {
  const { id, text, tags = [], passage } = finding;
  const { form, save } = useItemForm({
    route: 'revealFinding',
    initialValues: {},
    request: () => ({ params: { id } }),
  });
  const parts = [
    'the text',
    ...(passage ? ['the quoted passage'] : []),
    ...(tags.length > 0 ? ['the tags'] : []),
  ];
  return (
    <DialogForm form={form} save={save} submit="Reveal">
      <p>
        Everyone who can read this archive, its dumps and its copies can then read {parts.join(', ')}, what
        the finding is about, and the salt of the commitment. This cannot be undone.
      </p>
      <p className={`${classes.quote} scroll keep-lines wrap-anywhere`}>{text}</p>
    </DialogForm>
  );
}

/** An object that a passage may be quoted from. */
export interface QuotedObject {
  sha256: string;
  /** Such as `After`. */
  name: string;
}

/** A passage, and where it is in the text of an object that contains it, if one does. */
export interface FoundPassage {
  passage: NonNullable<NewFinding['passage']>;
  found:
    | { object: QuotedObject; start: number; end: number; page: number | null; others: number }
    | undefined;
}

/**
 * Finds a quotation in the texts of these objects, in their order: the first place, if there are several. If none has it,
 * the passage is the quotation as it was entered, of no object.
 */
export async function findPassage(
  quote: string,
  objects: readonly QuotedObject[],
  signal?: AbortSignal,
): Promise<FoundPassage> {
  const entered = { exact: quote, prefix: '', suffix: '', page: null };
  for (const object of objects) {
    const located = await locateIn(object, quote, signal);
    if (!located || located.end - located.start > MAX_QUOTE_CHARACTERS) continue;
    const { exact, start, end } = located;
    const passage = { ...entered, sha256: object.sha256, exact, start, end };
    return { passage, found: { object, ...located } };
  }
  return { passage: { ...entered, sha256: null, start: null, end: null }, found: undefined };
}

async function locateIn({ sha256 }: QuotedObject, quote: string, signal: AbortSignal | undefined) {
  try {
    const { text, pages } = await call('readObjectText', { params: { sha256 }, signal });
    return firstPlace(text, quote, pages !== null);
  } catch (error) {
    // The object has no text, or its text cannot be made now. The quotation is kept without its position.
    if (error instanceof ApiProblem) return undefined;
    throw error;
  }
}

/** The first place of a quotation in a text, and how many others there are. */
function firstPlace(text: string, quote: string, hasPages: boolean) {
  const { count, first } = findWords(text, quote);
  if (!first) return undefined;
  const characters = Array.from(text);
  const { start, end } = first;
  return {
    start,
    end,
    exact: characters.slice(start, end).join(''),
    page: hasPages ? characters.slice(0, start).join('').split('\f').length : null,
    others: count - 1,
  };
}
