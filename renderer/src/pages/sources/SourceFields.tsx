import { Autocomplete, Checkbox, NumberInput, Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { FollowKind } from '../../../../shared/collection/follow.ts';
import type { CaptureMode } from '../../../../shared/collection/source.ts';
import { useCall } from '../../api/useCall.ts';
import { Disclosure } from '../../components/forms/buttons.tsx';
import { type Choice, ChoiceCards } from '../../components/forms/pickers.tsx';
import { formatCount } from '../../format.ts';
import { FollowPreview } from './FoundList.tsx';
import { LoginField } from './Login.tsx';
import { ScheduleFields } from './ScheduleFields.tsx';
import { type DraftErrors, type DraftProps, inputsOf, type SourceDraft } from './sourceForm.ts';
import classes from './sources.module.css';
import { useAgenciesAndTags } from './useSources.ts';
import { type Choosing, WatchFields } from './WatchFields.tsx';

interface SourceFieldsProps extends DraftProps<SourceDraft> {
  /** Whether private addresses can be allowed or refused here. */
  canAllowPrivate?: boolean;
  /** How the watched part is chosen by clicking. */
  choosing?: Choosing;
}

/** The settings of a source other than its URL. */
export function SourceFields({ canAllowPrivate = false, choosing, ...fields }: SourceFieldsProps) {
  const { draft, errors } = fields;
  const input = inputsOf(fields);
  const { agencies, tags } = useAgenciesAndTags();
  const hasFetch = Boolean(
    draft.every_minutes ||
      draft.by === 'times' ||
      draft.has_hours ||
      draft.max_object_mb ||
      draft.ignore_robots ||
      draft.headers,
  );
  return (
    <div className="stack gap-4">
      <TextInput
        label="Name"
        description={
          draft.profile === ''
            ? 'Shown in lists and events. Default: the page’s title when it is first retrieved.'
            : 'Shown in lists and events, also to visitors. Default: the address.'
        }
        {...input.text('name')}
      />
      <div className="stack columns gap-4">
        <Autocomplete
          label="Agency"
          description="Who publishes the source."
          data={agencies}
          {...input.value('agency')}
        />
        <TagsInput
          label="Tags"
          description="Press Enter after each tag."
          data={tags}
          {...input.value('tags')}
        />
      </div>
      <LoginField {...fields} />
      <CaptureFields {...fields} />
      <WatchFields {...fields} choosing={choosing} />
      <Disclosure
        title="Older versions"
        isUsed={draft.keep_days !== ''}
        isWrong={hasErrors(errors, ['keep_days'])}
      >
        <NumberInput
          label="Keep for … days"
          description="Default: forever. Older versions are then given up for good; their records, digests and proofs stay. The newest version is kept, and what a pack, a finding or a case needs."
          suffix=" days"
          min={1}
          max={36_500}
          allowDecimal={false}
          w="min(100%, 32rem)"
          {...input.number('keep_days')}
        />
      </Disclosure>
      <Disclosure title="Fetch settings" isUsed={hasFetch} isWrong={hasErrors(errors, FETCH_FIELDS)}>
        <FetchFields {...fields} canAllowPrivate={canAllowPrivate} />
      </Disclosure>
      <Disclosure
        title="Follow links"
        isUsed={draft.follow_kind !== ''}
        isWrong={hasErrors(errors, FOLLOW_FIELDS)}
      >
        <FollowFields {...fields} />
      </Disclosure>
    </div>
  );
}

export const CAPTURE_CHOICES: readonly Choice<CaptureMode>[] = [
  {
    value: 'object',
    label: 'The file as the server sends it',
    meaning: 'Byte for byte, without running any scripts. Suitable for documents, data and plain pages.',
  },
  {
    value: 'page',
    label: 'The page as a person sees it',
    meaning: 'The file, and the page as a browser draws it: its picture, its text and everything it loads.',
  },
];

/** What is kept of a source at each check. */
function CaptureFields(fields: DraftProps<SourceDraft>) {
  const { capture, has_picture_events } = fields.draft;
  const input = inputsOf(fields);
  return (
    <fieldset className={`${classes.rules} stack gap-2`}>
      <legend>What is kept</legend>
      <ChoiceCards label="What is kept" choices={CAPTURE_CHOICES} {...input.value('capture')} />
      {capture === 'page' && (
        <div className="cluster gap-3">
          <Checkbox
            label="Also report changes to the picture alone, if at least"
            {...input.checkbox('has_picture_events')}
          />
          <span className="cluster gap-2">
            <NumberInput
              aria-label="Share of the pixels that must change"
              size="xs"
              w="6.5rem"
              suffix=" %"
              min={0}
              max={100}
              disabled={!has_picture_events}
              {...input.number('picture_events')}
            />
            <span className="compact">of its pixels change</span>
          </span>
        </div>
      )}
    </fieldset>
  );
}

const FETCH_FIELDS = [
  'every_minutes',
  'every',
  'time_zone',
  'hours_from',
  'hours_to',
  'hours_days',
  'hours_zone',
  'max_object_mb',
  'headers',
] as const;
const FOLLOW_FIELDS = ['follow_kind', 'follow_match', 'follow_types', 'follow_limit'] as const;

function hasErrors(errors: DraftErrors, fields: readonly (keyof DraftErrors)[]): boolean {
  return fields.some((field) => errors[field] !== undefined);
}

function FetchFields({ canAllowPrivate, ...fields }: SourceFieldsProps) {
  const input = inputsOf(fields);
  const { data: settings } = useCall('readSettings');
  const nodes = (value: number | undefined, unit: string) =>
    value === undefined
      ? 'Default: the node’s setting.'
      : `Default: ${formatCount(value)} ${unit}, the node’s setting.`;
  return (
    <div className="stack gap-4">
      <ScheduleFields {...fields} />
      <div className="stack columns gap-4">
        <NumberInput
          label="Maximum size"
          description={nodes(settings?.max_object_mb, 'MB')}
          suffix=" MB"
          min={0}
          {...input.number('max_object_mb')}
        />
      </div>
      <Checkbox
        label="Ignore the site’s robots.txt"
        description="For sources of public interest. Requests still identify this node."
        {...input.checkbox('ignore_robots')}
      />
      {canAllowPrivate && (
        <Checkbox
          label="Allow private addresses"
          description="The source may be on your own network. Otherwise such requests are refused."
          {...input.checkbox('allow_private')}
        />
      )}
      <Textarea
        label="Request headers"
        description="One per line, “Name: value”. Names are recorded in the ledger. Values are in no record, but a page is kept as the site sends it: if it shows a value, visitors can read it there."
        placeholder="Accept-Language: de"
        maxRows={8}
        classNames={{ input: classes.typed }}
        {...input.text('headers')}
      />
    </div>
  );
}

const KINDS: readonly { value: FollowKind | ''; label: string }[] = [
  { value: '', label: 'Nothing' },
  { value: 'links', label: 'Links on the page' },
  { value: 'feed', label: 'Items of a feed (RSS, Atom, JSON Feed)' },
  { value: 'sitemap', label: 'Addresses in a sitemap' },
];

/** Which addresses of the newest version become sources of their own. */
function FollowFields(fields: DraftProps<SourceDraft>) {
  const { draft } = fields;
  const input = inputsOf(fields);
  return (
    <div className="stack gap-4">
      <Select
        label="Watch as separate sources"
        data={KINDS}
        allowDeselect={false}
        {...input.value('follow_kind')}
        onChange={(kind) => fields.onChange({ follow_kind: kind ?? '' })}
      />
      {draft.follow_kind !== '' && (
        <>
          <div className="stack columns gap-4">
            <TagsInput
              label="Types"
              description="Extensions or media types. Default: all."
              placeholder={draft.follow_types.length === 0 ? 'pdf' : ''}
              data={['pdf', 'csv', 'xlsx', 'docx', 'html', 'json', 'xml']}
              {...input.value('follow_types')}
            />
            <NumberInput
              label="Maximum"
              description="The total of watched addresses and addresses to review."
              min={1}
              {...input.number('follow_limit')}
            />
          </div>
          <TextInput
            label="Address pattern"
            description="A regular expression (RE2). Default: all addresses on the same host."
            placeholder="/reports/20\d\d/"
            classNames={{ input: classes.typed }}
            {...input.text('follow_match')}
            autoComplete="off"
            spellCheck={false}
          />
          <Checkbox
            label="Review found addresses first"
            description="Otherwise they are watched immediately and checked in the next round."
            {...input.checkbox('follow_approve')}
          />
          <FollowPreview draft={draft} />
        </>
      )}
    </div>
  );
}
