import { Button, Checkbox, TagsInput, Textarea } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { IconNote } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import {
  type Finding,
  type FindingTarget,
  MAX_QUOTE_CHARACTERS,
  type PassageAnchor,
} from '../../../../shared/findings/finding.ts';
import { textFragment } from '../../../../shared/findings/textFragment.ts';
import { fieldErrors, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { TimeText } from '../data/Values.tsx';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, useItemForm } from '../forms/DialogForm.tsx';
import { Section } from '../layout/Page.tsx';
import { AddToCase } from './AddToCase.tsx';
import { CiteButton } from './Citation.tsx';
import classes from './content.module.css';
import {
  type FoundPassage,
  findPassage,
  PassageQuote,
  type QuotedObject,
  SealedCard,
  SealLine,
  TagList,
  TargetLine,
} from './FindingParts.tsx';

const MAX_SHOWN = 100;

interface FindingsSectionProps {
  target: FindingTarget;
  /** The objects that a passage may be quoted from, the most likely first. */
  objects: readonly QuotedObject[];
}

/** The findings about an event, an object or a pack. The owner can add one, with the selected text as its passage. */
export function FindingsSection({ target, objects }: FindingsSectionProps) {
  const isOwner = useIsOwner();
  const query = { [target.kind]: target.id, limit: MAX_SHOWN };
  const { data, error, refetch } = useCall('listFindings', { query });
  // Visitors do not know what a sealed finding is about.
  const sealed = useCall('listSealedFindings', { query }, { enabled: isOwner });
  if (!isOwner && (!data || data.total === 0)) return null;
  return (
    <Section title="Findings" actions={isOwner && <AddFinding target={target} objects={objects} />}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {sealed.error && <ErrorNote error={sealed.error} onRetry={() => void sealed.refetch()} />}
      {data?.total === 0 && sealed.data?.total === 0 && (
        <p className="muted">
          No findings yet. To quote a passage, select it on this page, then choose “Add a finding”.
        </p>
      )}
      <div className="stack gap-3">
        {sealed.data?.items.map((finding) => (
          <SealedCard key={finding.id} finding={finding} withTarget={false} />
        ))}
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

interface FindingCardProps {
  finding: Finding;
  /** Whether the card says what the finding is about. */
  withTarget?: boolean;
  /** Further actions of the owner. */
  children?: ReactNode;
}

/** A finding: the quoted passage, the text, the tags, and where it is recorded. */
export function FindingCard({ finding, withTarget = false }: FindingCardProps) {
  const isOwner = useIsOwner();
  const { id, at, text, tags, passage, target, target_name, ledger_entry } = finding;
  const { withdrawal, superseded_by } = finding;
  const isCurrent = withdrawal === null && superseded_by === null;
  return (
    <article className="card stack gap-2" aria-label={`Finding about ${target_name}`}>
      {withTarget && <TargetLine target={target} name={target_name} />}
      <PassageQuote passage={passage} />
      {finding.anchor && <p className="muted small">{anchorWords(finding.anchor)}</p>}
      {withdrawal === null ? (
        <p className="measure keep-lines wrap-anywhere">{text}</p>
      ) : (
        <p className="measure keep-lines wrap-anywhere">
          <strong>Withdrawn:</strong> {withdrawal}
        </p>
      )}
      <TagList tags={tags} />
      {finding.sealed && <SealLine {...finding.sealed} isRevealed />}
      <div className="cluster between gap-4">
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
          {passage && (passage.derived || finding.anchor?.state === 'found') && (
            <>
              , <EvidenceLinks id={id} exact={passage.exact} />
            </>
          )}
        </span>
        <span className={classes.actions}>
          {isOwner && isCurrent && <Changes finding={finding} />}
          {isOwner && <AddToCase item={{ kind: 'finding', id }} size="compact-xs" />}
          <CiteButton item={id} size="compact-xs" variant="subtle" />
        </span>
      </div>
    </article>
  );
}

/** Opens the evidence file of a passage at the passage, or saves it. */
function EvidenceLinks({ id, exact }: { id: string; exact: string }) {
  const address = urlOf('readFindingEvidence', { params: { id } });
  return (
    <>
      <a href={`${address}${textFragment(exact)}`} target="_blank" rel="noopener">
        evidence
      </a>{' '}
      (
      <a href={address} download aria-label="Save the evidence file">
        save
      </a>
      )
    </>
  );
}

/** Says where a passage is in a text that another tool made since, or that it is nowhere. The quotation stays. */
function anchorWords({ state, tool, version, start, end, page }: PassageAnchor): string {
  const text = `the text that ${tool} ${version} makes of the object`;
  if (state === 'found') {
    const where = page === null ? '' : `on page ${page}, `;
    return `Now ${where}at characters ${formatCount(start ?? 0)} to ${formatCount(end ?? 0)} of ${text}.`;
  }
  return state === 'no_text'
    ? `The object has no text any more: ${tool} ${version} makes none of it. The quotation is as it was recorded.`
    : `Not found at a sure place in ${text}. The quotation is as it was recorded, from an earlier text.`;
}

function Changes({ finding }: { finding: Finding }) {
  const [isEditing, editing] = useDisclosure(false);
  const [isWithdrawing, withdrawing] = useDisclosure(false);
  const sha256 = finding.passage?.sha256 ?? null;
  // The dialog keeps its form while it closes.
  const [objects] = useState(sha256 === null ? [] : [{ sha256, name: 'Object' }]);
  return (
    <>
      <Button variant="subtle" size="compact-xs" onClick={editing.open}>
        New version
      </Button>
      <Button variant="subtle" size="compact-xs" onClick={withdrawing.open}>
        Withdraw
      </Button>
      <FindingDialog
        opened={isEditing}
        onClose={editing.close}
        target={finding.target}
        objects={objects}
        quote=""
        superseded={finding}
      />
      <FormDialog opened={isWithdrawing} onClose={withdrawing.close} title="Withdraw finding" size="md">
        <WithdrawForm finding={finding} />
      </FormDialog>
    </>
  );
}

interface FindingDialogProps {
  opened: boolean;
  onClose: () => void;
  target: FindingTarget;
  /** The objects that a passage may be quoted from. */
  objects: readonly QuotedObject[];
  /** The text that was selected on the page. */
  quote: string;
  /** The finding that a new version is written of. */
  superseded?: Finding;
}

/** Writes a finding, or a new version of one. */
function FindingDialog({ opened, onClose, ...form }: FindingDialogProps) {
  const title = form.superseded ? 'New version of the finding' : 'Add a finding';
  return (
    <FormDialog opened={opened} onClose={onClose} title={title} size="lg">
      <FindingForm {...form} />
    </FormDialog>
  );
}

type FindingFormProps = Omit<FindingDialogProps, 'opened' | 'onClose'>;

function FindingForm({ target, objects, quote, superseded }: FindingFormProps) {
  const known = useCall('listFindingTags');
  const { form, save } = useFindingForm({ target, objects, quote, superseded });
  return (
    <DialogForm
      form={form}
      save={save}
      submit={form.values.sealed ? 'Seal finding' : 'Save finding'}
      hasUnsaved={quote !== ''}
    >
      <Textarea
        label="Quoted passage"
        description="Optional. Select text on the page before you open this dialog, or paste it here."
        maxRows={8}
        {...form.getInputProps('quote')}
      />
      <PassageNote quote={form.values.quote} objects={objects} />
      <Textarea
        label="Finding"
        description="What you found, in your own words."
        minRows={4}
        maxRows={16}
        data-autofocus
        {...form.getInputProps('text')}
      />
      <TagsInput
        label="Tags"
        description="Optional. Press Enter after each."
        data={known.data?.tags.map(({ tag }) => tag) ?? []}
        maxTags={50}
        {...form.getInputProps('tags')}
      />
      {!superseded && (
        <Checkbox
          label="Seal it: only a commitment is published now"
          description="Others see that you sealed something, and when. Reveal it later, and everyone can check that it is what you sealed."
          {...form.getInputProps('sealed', { type: 'checkbox' })}
        />
      )}
      <p className="small">
        {form.values.sealed
          ? 'A sealed finding is recorded in the ledger, so it cannot be changed or deleted. Dumps and copies have it encrypted to the key withheld.key in the data folder: keep that key, because without it nobody can restore the finding.'
          : 'A finding is recorded in the ledger, so it cannot be changed or deleted. Everyone who can read this archive can read it, including in dumps and copies. You can supersede it with a new version or withdraw it.'}
      </p>
    </DialogForm>
  );
}

/** The fields of a finding, and its recording. */
function useFindingForm({ target, objects, quote, superseded }: FindingFormProps) {
  return useItemForm({
    route: 'addFinding',
    initialValues: {
      quote: superseded?.passage?.exact ?? quote,
      text: superseded?.text ?? '',
      tags: superseded?.tags ?? [],
      sealed: false,
    },
    validate: (values) => ({
      ...(values.text === '' && { text: 'Write what you found.' }),
      ...(values.quote.length > MAX_QUOTE_CHARACTERS && {
        quote: `At most ${formatCount(MAX_QUOTE_CHARACTERS)} characters.`,
      }),
    }),
    request: async (values) => {
      const exact = values.quote.trim();
      const passage = exact === '' ? null : await passageOf(exact, objects, superseded);
      const { text, tags, sealed } = values;
      return { body: { target, text, tags, passage, supersedes: superseded?.id ?? null, sealed } };
    },
    errorsOf: (error) => {
      const { 'passage.exact': passage, ...others } = fieldErrors(error);
      return passage === undefined ? others : { ...others, quote: passage };
    },
  });
}

/** A new version with the same quotation quotes the same place, also if the words are at others, too. */
async function passageOf(
  exact: string,
  objects: readonly QuotedObject[],
  superseded: Finding | undefined,
): Promise<FoundPassage['passage']> {
  const { derived: _made, ...quoted } = superseded?.passage ?? {};
  if ('exact' in quoted && quoted.exact.trim() === exact) return quoted;
  return (await findPassage(exact, objects)).passage;
}

const PAUSE_MS = 300;

/** Says where the quoted passage is in the text of an object. */
function PassageNote({ quote, objects }: { quote: string; objects: readonly QuotedObject[] }) {
  const [settled] = useDebouncedValue(quote.trim(), PAUSE_MS);
  const { data } = useQuery({
    queryKey: ['passage', settled, objects.map(({ sha256 }) => sha256)],
    queryFn: ({ signal }) => findPassage(settled, objects, signal),
    enabled: settled !== '' && objects.length > 0,
    placeholderData: keepPreviousData,
  });
  if (settled === '' || objects.length === 0 || !data) return null;
  return <output className="muted small">{passagePlace(data, objects)}</output>;
}

function passagePlace({ found }: FoundPassage, objects: readonly QuotedObject[]): string {
  if (!found) return 'The text of the object does not contain this passage. The passage is saved as entered.';
  const { object, start, end, page, others } = found;
  const where = page === null ? '' : `page ${page}, `;
  const name = objects.length > 1 ? ` (${object.name})` : '';
  const first = others === 0 ? '' : ` This is the first of ${formatCount(others + 1)} places.`;
  return `Found in the text of the object${name}: ${where}characters ${formatCount(start)} to ${formatCount(end)}.${first}`;
}

/** Withdraws a finding with a reason. */
function WithdrawForm({ finding }: { finding: Finding }) {
  const { form, save } = useItemForm({
    route: 'withdrawFinding',
    initialValues: { reason: '' },
    validate: ({ reason }) => (reason === '' ? { reason: 'Enter a reason.' } : {}),
    request: (body) => ({ params: { id: finding.id }, body }),
  });
  return (
    <DialogForm form={form} save={save} submit="Withdraw">
      <p>
        A withdrawn finding is no longer listed. It can still be read, with the reason, because the ledger
        records both.
      </p>
      <Textarea label="Reason" maxRows={8} data-autofocus {...form.getInputProps('reason')} />
    </DialogForm>
  );
}
