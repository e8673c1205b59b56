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
import { useState } from 'react';
import { useCall } from '../../../api/useCall.ts';
import { IntervalInput } from '../../../components/forms/IntervalInput.tsx';
import { intervalText } from '../../../format/interval.ts';
import { formatCount } from '../../../format/size.ts';
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
  const hasMore = Boolean(draft.every_minutes || draft.max_object_mb || draft.ignore_robots || draft.headers);
  const [opened, setOpened] = useState(hasMore);
  const isOpen = opened || Boolean(errors.every_minutes || errors.max_object_mb || errors.headers);
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
      <UnstyledButton className={classes.more} aria-expanded={isOpen} onClick={() => setOpened(!isOpen)}>
        <IconChevronRight size={16} aria-hidden data-open={isOpen || undefined} />
        Fetch settings
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <FetchFields draft={draft} errors={errors} canAllowPrivate={canAllowPrivate} onChange={onChange} />
      </Collapse>
    </div>
  );
}

function FetchFields({ draft, errors, canAllowPrivate, onChange }: SourceFieldsProps) {
  const { data: settings } = useCall('readSettings');
  const nodes = (value: number | undefined, unit: string) =>
    value === undefined ? 'Empty: node default.' : `Empty: node default (${formatCount(value)} ${unit}).`;
  return (
    <div className={classes.fields}>
      <div className={classes.pair}>
        <IntervalInput
          label="Check every"
          description={
            settings === undefined
              ? 'Empty: node default.'
              : `Empty: node default (${intervalText(settings.collection_every_minutes)}).`
          }
          value={draft.every_minutes}
          error={errors.every_minutes}
          onChange={(minutes) => onChange({ every_minutes: minutes })}
        />
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
