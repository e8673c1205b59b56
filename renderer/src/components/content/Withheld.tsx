import { Radio, Stack, Switch, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEyeOff, IconTrashX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import {
  newWithholdingSchema,
  RELEASED_REASON_TEXT,
  type WithheldReason,
  type Withholding,
} from '../../../../shared/node/withheld.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { captureTime, formatCount, viewPath } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import {
  type Hidden,
  hiddenBy,
  useHidden,
  useWithheldState,
  type WithheldTarget,
} from '../../state/withheld.ts';
import { TimeText } from '../data/Values.tsx';
import { NotShown } from '../feedback/ErrorNote.tsx';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import { DialogForm, FormDialog, Question, useItemForm } from '../forms/DialogForm.tsx';
import classes from './content.module.css';

interface WithheldMarkProps extends Hidden {
  /** How much it says: the whole, less in a row of a list, or the reason alone beside words that say the rest. */
  words?: 'all' | 'row' | 'reason';
}

const WORDS = {
  withheld: { all: 'Not shown to visitors: ', row: 'Not shown: ', reason: '' },
  released: { all: 'Given up: ', row: 'Given up: ', reason: '' },
} as const;

/** A mark in a row or a heading: that visitors do not see the bytes, or that nobody does any more. */
export function WithheldMark({ kind, reason, since, words = 'all' }: WithheldMarkProps) {
  const Icon = kind === 'withheld' ? IconEyeOff : IconTrashX;
  const hint = (
    <>
      {kind === 'withheld' ? 'Not shown to visitors since ' : 'Given up on '}
      <TimeText at={since} show="exact" />. The record and its proof stay public.
    </>
  );
  return (
    <LazyTooltip label={hint} maxWidth={300}>
      {(trigger) => (
        <span
          {...trigger}
          className={`${classes.mark} line inline gap-1 baseline self-start sunk small muted`}
        >
          <Icon size={15} stroke={1.9} aria-hidden />
          <span>
            {WORDS[kind][words]}
            {RELEASED_REASON_TEXT[reason]}
          </span>
        </span>
      )}
    </LazyTooltip>
  );
}

/** The mark of something that may be withheld, short enough for a row; nothing if it is not. */
export function WithheldMarkOf({ target }: { target: WithheldTarget }) {
  const state = useWithheldState(target);
  const hidden = state && hiddenBy(state);
  return hidden ? <WithheldMark {...hidden} words="row" /> : null;
}

interface IfReadableProps {
  /** What the content is made of. */
  of: readonly WithheldTarget[];
  children: ReactNode;
}

/** What is made of bytes or, if the person may not read them, why. Then nothing of the content is requested. */
export function IfReadable({ of, children }: IfReadableProps) {
  const hidden = useHidden(...of);
  if (hidden === undefined) return null;
  return hidden ? <NotShown {...hidden} /> : children;
}

interface WithheldProps {
  target: WithheldTarget;
  /** What is withheld, in the middle of a sentence: `this object`. */
  what: string;
}

/** Whether something is shown to visitors, why not, and since when. The owner can change it. */
export function Withheld({ target, what }: WithheldProps) {
  const isOwner = useIsOwner();
  const state = useWithheldState(target);
  if (!state) return null;
  const hidden = hiddenBy(state);
  if (!isOwner || hidden?.kind === 'released') return hidden ? <WithheldMark {...hidden} /> : null;
  const own = state.withheld.find((withholding) => isOf(withholding, target));
  const shown = own ?? state.withheld[0];
  return (
    <div className="cluster gap-4 start">
      <WithheldSwitch target={target} what={what} own={own} isCovered={shown !== undefined} />
      {shown && <Why withholding={shown} isOwn={own !== undefined} />}
    </div>
  );
}

function isOf(withholding: Withholding, target: WithheldTarget): boolean {
  return Object.entries(target).every(([name, value]) => withholding[name as keyof Withholding] === value);
}

/** Why something is withheld, since when, and as part of what. */
function Why({ withholding, isOwn }: { withholding: Withholding; isOwn: boolean }) {
  const { reason, at, note, ledger_entry } = withholding;
  return (
    <div className={`${classes.why} stack gap-2 small`}>
      <span className="cluster gap-3">
        <WithheldMark kind="withheld" reason={reason} since={at} words="reason" />
        <span className="muted">
          {!isOwn && `as part of ${partOf(withholding)}, `}since <TimeText at={at} />
        </span>
        <Link to={`/withheld#${ledger_entry}`}>All that is withheld</Link>
      </span>
      {note && <p className="measure wrap-anywhere keep-lines">{note}</p>}
    </div>
  );
}

function partOf({ pack, page, retrieval }: Withholding): string {
  if (pack !== null) return 'a pack';
  if (page !== null) return 'a page capture';
  return retrieval === null ? 'another object' : 'a retrieval';
}

interface WithheldSwitchProps extends WithheldProps {
  /** Its own withholding, which the switch ends. */
  own: Withholding | undefined;
  /** Whether it is withheld, by itself or as part of something else. */
  isCovered: boolean;
}

function WithheldSwitch({ target, what, own, isCovered }: WithheldSwitchProps) {
  const [isWithholding, withholding] = useDisclosure(false);
  const [isShowing, showing] = useDisclosure(false);
  return (
    <>
      <Switch
        size="xs"
        label="Not shown to visitors"
        className={classes.switch}
        checked={isCovered}
        // What is withheld as part of something else is shown again with that.
        disabled={isCovered && !own}
        onChange={own ? showing.open : withholding.open}
      />
      <FormDialog
        opened={isWithholding}
        onClose={withholding.close}
        title={`Do not show ${what} to visitors`}
        size="lg"
      >
        <WithholdForm target={target} />
      </FormDialog>
      {isShowing && <ShowDialog target={target} what={what} onClose={showing.close} />}
    </>
  );
}

/** Asks why something is not to be shown, and withholds it. */
function WithholdForm({ target }: Pick<WithheldProps, 'target'>) {
  const { form, save } = useItemForm({
    route: 'withhold',
    initialValues: { reason: '', note: '' },
    validate: reasonErrors,
    request: ({ reason, note }) => ({
      body: newWithholdingSchema.parse({ ...target, reason, ...(note.trim() !== '' && { note }) }),
    }),
  });
  return (
    <DialogForm form={form} save={save} submit="Do not show">
      <p className="small">
        Visitors no longer get the bytes, or what was made of them: text, picture, differences, search
        results, exports, the pages of copies. The record, the digest and their proof stay public. You still
        see everything.
      </p>
      <ReasonFields form={form} />
    </DialogForm>
  );
}

/** The rule that a reason is chosen, in a form with the fields `reason` and `note`. */
export function reasonErrors({ reason, note }: ReasonValues): Record<string, string> {
  return {
    ...(reason === '' && { reason: 'Choose a reason.' }),
    ...(note.trim().length > MAX_NOTE && { note: `At most ${MAX_NOTE} characters.` }),
  };
}

const MAX_NOTE = 2000;

export interface ReasonValues {
  reason: WithheldReason | '';
  note: string;
}

interface ReasonFieldsProps {
  form: { getInputProps: (name: 'reason' | 'note') => object };
}

/** The reasons to choose from, each with a sentence. */
const REASONS: readonly { value: WithheldReason; label: string; meaning: string }[] = [
  {
    value: 'personal_data',
    label: 'Personal data',
    meaning: 'It says something about a person who has not agreed to be shown.',
  },
  {
    value: 'copyright',
    label: 'Copyright',
    meaning: 'Somebody else has the rights. You may keep it, but not show it.',
  },
  {
    value: 'legal_order',
    label: 'Legal order',
    meaning: 'A court or an authority demands that it is not shown.',
  },
  {
    value: 'login',
    label: 'Behind a login',
    meaning: 'It was seen with an account. The public does not get it.',
  },
  {
    value: 'owner',
    label: 'Your decision',
    meaning: 'You do not want to show it, for a reason of your own.',
  },
];

/** The reason, with a sentence for each, and a note. Both are public. */
export function ReasonFields({ form }: ReasonFieldsProps) {
  return (
    <>
      <Radio.Group label="Reason" {...form.getInputProps('reason')}>
        <Stack gap="xs" mt="xs">
          {REASONS.map(({ value, label, meaning }) => (
            <Radio key={value} value={value} label={label} description={meaning} />
          ))}
        </Stack>
      </Radio.Group>
      <Textarea
        label="Note"
        description="Optional. Everybody can read it, and the ledger keeps it: do not repeat what you withhold."
        maxRows={8}
        {...form.getInputProps('note')}
      />
    </>
  );
}

interface ShowDialogProps extends WithheldProps {
  onClose: () => void;
}

/** Asks before something is shown to visitors again. */
export function ShowDialog({ target, what, onClose }: ShowDialogProps) {
  const show = useSave('show', () => ({ body: target }), { onSaved: onClose });
  return (
    <Question title={`Show ${what} to visitors again?`} answer="Show again" save={show} onClose={onClose}>
      Everybody who may read this archive can then read the bytes, also in copies after their next sync. The
      ledger keeps that they were withheld, and why.
    </Question>
  );
}

/** How something that is withheld or was given up is called. */
export interface Named {
  /** Its title or address; its id until that is known. */
  text: string;
  /** What it is: `Page capture`. */
  kind: string;
  /** The same in the middle of a sentence: `this page capture`. */
  what: string;
  /** Its page. */
  to: string;
  /** The source that first brought it. */
  source?: string | undefined;
}

export function NameOf({ named: { text, to } }: { named: Named }) {
  return <Link to={to}>{text}</Link>;
}

/** Returns what a withholding names. */
export function useNameOf({ sha256, retrieval, pack, page }: Withholding): Named {
  const ofObject = useObjectName(sha256);
  const ofPack = useCall('readPack', { params: { id: pack ?? '' } }, { enabled: pack !== null });
  const ofPage = useCall('readPage', { params: { id: page ?? '' } }, { enabled: page !== null });
  const ofRetrieval = useCall(
    'proveRetrieval',
    { params: { id: retrieval ?? 0 } },
    { enabled: retrieval !== null },
  );
  if (pack !== null) {
    const text = ofPack.data?.title ?? pack;
    return { text, kind: 'Files of a pack', what: 'the files of this pack', to: `/packs/${pack}` };
  }
  if (page !== null) {
    const text = ofPage.data?.title || (ofPage.data?.url ?? page);
    return { text, kind: 'Page capture', what: 'this page capture', to: `/pages/${page}` };
  }
  if (retrieval !== null) {
    const got = ofRetrieval.data?.retrieval;
    return {
      text: got?.url ?? `Retrieval ${formatCount(retrieval)}`,
      kind: `Retrieval ${formatCount(retrieval)}`,
      what: 'this retrieval',
      to: got?.sha256
        ? viewPath({ sha256: got.sha256, source: got.source, at: captureTime(got) })
        : `/ledger`,
    };
  }
  return ofObject;
}

/** Returns how an object is called: by its file in a pack, or by the address that it came from. */
export function useObjectName(sha256: string | null): Named {
  const { data } = useCall(
    'lookUpDigests',
    { query: { sha256: sha256 ?? '' } },
    { enabled: sha256 !== null },
  );
  const digest = sha256 ?? '';
  const found = data?.items[0];
  if (found?.pack && !found.source) {
    const { id, path } = found.pack;
    return { text: path, kind: 'File of a pack', what: 'this file', to: `/packs/${id}` };
  }
  return {
    text: found?.source?.url ?? `Object ${digest.slice(0, 12)}`,
    kind: `Object ${digest.slice(0, 8)}`,
    what: 'this object',
    to: viewPath({ sha256: digest, source: found?.source?.id }),
    source: found?.source?.id,
  };
}
