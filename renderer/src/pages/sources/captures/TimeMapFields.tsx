import { Checkbox, NumberInput, TextInput } from '@mantine/core';
import { DEFAULT_MEMENTOS, MAX_MEMENTOS } from '../../../../../shared/collection/captures.ts';
import { formatCount } from '../../../format/size.ts';
import type { CaptureDraftErrors } from './captureDraft.ts';
import type { CaptureDraft } from './captureImport.ts';
import classes from './ImportCaptures.module.css';

export interface TimeMapFieldsProps {
  draft: CaptureDraft;
  errors: CaptureDraftErrors;
  onChange: (change: Partial<CaptureDraft>) => void;
}

/** Selects the captures to import from an archive that supports Memento. */
export function TimeMapFields({ draft, errors, onChange }: TimeMapFieldsProps) {
  return (
    <>
      <TextInput
        label="TimeMap"
        description="The URL of the archive’s list of captures of one page (RFC 7089)."
        placeholder="https://web.archive.org/web/timemap/link/https://example.org/"
        inputMode="url"
        autoComplete="off"
        value={draft.timemap}
        error={errors.timemap}
        onChange={(event) => onChange({ timemap: event.currentTarget.value })}
      />
      <div className={classes.three}>
        <TextInput
          type="date"
          label="From"
          description="Empty: from the first capture."
          value={draft.since}
          error={errors.since}
          onChange={(event) => onChange({ since: event.currentTarget.value })}
        />
        <TextInput
          type="date"
          label="To"
          description="Empty: up to the last capture."
          value={draft.until}
          error={errors.until}
          onChange={(event) => onChange({ until: event.currentTarget.value })}
        />
        <NumberInput
          label="Maximum number"
          description={`Empty: ${formatCount(DEFAULT_MEMENTOS)}.`}
          suffix=" captures"
          min={1}
          max={MAX_MEMENTOS}
          clampBehavior="none"
          allowDecimal={false}
          hideControls
          value={draft.limit}
          error={errors.limit}
          onChange={(value) => onChange({ limit: String(value) })}
        />
      </div>
      <Checkbox
        label="Ignore the archive’s robots.txt"
        description="Request pauses, limits and Retry-After are still respected."
        checked={draft.ignoreRobots}
        onChange={(event) => onChange({ ignoreRobots: event.currentTarget.checked })}
      />
    </>
  );
}
