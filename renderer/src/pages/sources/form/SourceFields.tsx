import {
  Autocomplete,
  Checkbox,
  Collapse,
  NumberInput,
  TagsInput,
  Textarea,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useCall } from '../../../api/useCall.ts';
import { formatCount } from '../../../format/size.ts';
import { ScheduleFields } from '../schedule/ScheduleFields.tsx';
import { FollowFields } from './FollowFields.tsx';
import classes from './SourceFields.module.css';
import type { DraftErrors, SourceDraft } from './sourceForm.ts';
import { useAgenciesAndTags } from './useAgenciesAndTags.ts';

export interface SourceFieldsProps {
  draft: SourceDraft;
  errors: DraftErrors;
  /** Whether private addresses can be allowed or refused here. */
  canAllowPrivate?: boolean;
  onChange: (change: Partial<SourceDraft>) => void;
}

/** The settings of a source other than its URL. */
export function SourceFields({ draft, errors, canAllowPrivate = false, onChange }: SourceFieldsProps) {
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
    <div className={classes.fields}>
      <TextInput
        label="Name"
        description="Shown in lists and events. Empty: the title of the page when it is first seen."
        value={draft.name}
        error={errors.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <div className={classes.pair}>
        <Autocomplete
          label="Agency"
          description="Who publishes the source."
          data={agencies}
          value={draft.agency}
          error={errors.agency}
          onChange={(agency) => onChange({ agency })}
        />
        <TagsInput
          label="Tags"
          description="Press Enter after each tag."
          data={tags}
          value={draft.tags}
          error={errors.tags}
          onChange={(chosen) => onChange({ tags: chosen })}
          acceptValueOnBlur
        />
      </div>
      <Disclosure title="Fetch settings" isUsed={hasFetch} isWrong={hasErrors(errors, FETCH_FIELDS)}>
        <FetchFields draft={draft} errors={errors} canAllowPrivate={canAllowPrivate} onChange={onChange} />
      </Disclosure>
      <Disclosure
        title="Follow links"
        isUsed={draft.follow_kind !== ''}
        isWrong={hasErrors(errors, FOLLOW_FIELDS)}
      >
        <FollowFields draft={draft} errors={errors} onChange={onChange} />
      </Disclosure>
    </div>
  );
}

const FETCH_FIELDS = [
  'every_minutes',
  'every',
  'time_zone',
  'hours_from',
  'hours_to',
  'hours_days',
  'max_object_mb',
  'headers',
] as const;
const FOLLOW_FIELDS = ['follow_kind', 'follow_match', 'follow_types', 'follow_limit'] as const;

function hasErrors(errors: DraftErrors, fields: readonly (keyof DraftErrors)[]): boolean {
  return fields.some((field) => errors[field] !== undefined);
}

interface DisclosureProps {
  title: string;
  /** Whether its fields have values when it is first shown: then it is open. */
  isUsed: boolean;
  isWrong: boolean;
  children: ReactNode;
}

function Disclosure({ title, isUsed, isWrong, children }: DisclosureProps) {
  const [opened, setOpened] = useState(isUsed);
  const isOpen = opened || isWrong;
  return (
    <>
      <UnstyledButton className={classes.more} aria-expanded={isOpen} onClick={() => setOpened(!isOpen)}>
        <IconChevronRight size={16} aria-hidden data-open={isOpen || undefined} />
        {title}
      </UnstyledButton>
      <Collapse expanded={isOpen}>{children}</Collapse>
    </>
  );
}

function FetchFields({ draft, errors, canAllowPrivate, onChange }: SourceFieldsProps) {
  const { data: settings } = useCall('readSettings');
  const nodes = (value: number | undefined, unit: string) =>
    value === undefined ? 'Empty: node default.' : `Empty: node default (${formatCount(value)} ${unit}).`;
  return (
    <div className={classes.fields}>
      <ScheduleFields draft={draft} errors={errors} onChange={onChange} />
      <div className={classes.pair}>
        <NumberInput
          label="Maximum size"
          description={nodes(settings?.max_object_mb, 'MB')}
          suffix=" MB"
          min={0}
          value={draft.max_object_mb}
          error={errors.max_object_mb}
          onChange={(value) => onChange({ max_object_mb: String(value) })}
        />
      </div>
      <Checkbox
        label="Ignore the site’s robots.txt"
        description="Intended for sources of public interest. Requests still identify this node."
        checked={draft.ignore_robots}
        error={errors.ignore_robots}
        onChange={(event) => onChange({ ignore_robots: event.currentTarget.checked })}
      />
      {canAllowPrivate && (
        <Checkbox
          label="Allow private addresses"
          description="The source may be at an address in your own network. If not, such requests are refused."
          checked={draft.allow_private}
          onChange={(event) => onChange({ allow_private: event.currentTarget.checked })}
        />
      )}
      <Textarea
        label="Request headers"
        description="One per line, “Name: value”. Names are recorded in the ledger. Values stay on this node."
        placeholder="Accept-Language: de"
        autosize
        minRows={2}
        maxRows={8}
        classNames={{ input: classes.typed }}
        value={draft.headers}
        error={errors.headers}
        onChange={(event) => onChange({ headers: event.currentTarget.value })}
      />
    </div>
  );
}
