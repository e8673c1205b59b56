import { Button, Select } from '@mantine/core';
import { SOURCE_STATES } from '../../../../shared/collection/source.ts';
import { STATES } from '../../components/data/states/states.ts';
import { clearButtonProps } from '../../components/forms/clearButtonProps.ts';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { useFirstUse } from '../../components/forms/useFirstUse.ts';
import type { UrlFilters } from '../../state/urlFilters.ts';
import { useAgenciesAndTags } from './form/useAgenciesAndTags.ts';
import classes from './SourceFilterBar.module.css';

export const SOURCE_FILTERS = ['q', 'state', 'agency', 'tag'] as const;
export type SourceFilterName = (typeof SOURCE_FILTERS)[number];

const STATE_OPTIONS = SOURCE_STATES.map((value) => ({ value, label: STATES.source[value].label }));

/** The filters of the source list, kept in the URL. */
export function SourceFilterBar({ filters }: { filters: UrlFilters<SourceFilterName> }) {
  const { values, set, clear, isAny } = filters;
  const { isUsed, props } = useFirstUse();
  const { agencies, tags, isLoaded } = useAgenciesAndTags(isUsed);
  return (
    <search className={classes.bar} {...props}>
      <div className={classes.search}>
        <SearchField
          label="Search sources"
          placeholder="URL, name, agency or tag"
          value={values.q ?? ''}
          onChange={(q) => set({ q })}
        />
      </div>
      <Choice label="State" data={STATE_OPTIONS} value={values.state} onChange={(state) => set({ state })} />
      <Choice
        label="Agency"
        data={withOwn(agencies, values.agency)}
        isLoaded={isLoaded}
        value={values.agency}
        onChange={(agency) => set({ agency })}
      />
      <Choice
        label="Tag"
        data={withOwn(tags, values.tag)}
        isLoaded={isLoaded}
        value={values.tag}
        onChange={(tag) => set({ tag })}
      />
      {isAny && (
        <Button variant="subtle" onClick={clear}>
          Clear all
        </Button>
      )}
    </search>
  );
}

/** Values from the URL are offered even if no loaded source has them. */
function withOwn(values: string[], own: string | undefined): string[] {
  return own && !values.includes(own) ? [own, ...values] : values;
}

interface ChoiceProps {
  label: string;
  data: string[] | { value: string; label: string }[];
  /** False until the values are requested, which happens when the filters are first used. */
  isLoaded?: boolean;
  value: string | undefined;
  onChange: (value: string) => void;
}

function Choice({ label, data, isLoaded = true, value, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      placeholder={`Any ${label.toLowerCase()}`}
      data={data}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? '')}
      searchable={!isLoaded || data.length > 8}
      clearable
      clearButtonProps={clearButtonProps(`Any ${label.toLowerCase()}`)}
      disabled={isLoaded && data.length === 0}
      className={classes.choice}
    />
  );
}
