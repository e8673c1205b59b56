import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { clearButtonProps } from '../clearButtonProps.ts';

export interface PickerOption {
  value: string;
  label: string;
  /** A second line, such as the authors of a pack. */
  note?: string;
}

export interface PickerProps
  extends Pick<
    SelectProps,
    'description' | 'placeholder' | 'error' | 'id' | 'size' | 'aria-label' | 'disabled' | 'w'
  > {
  label?: string;
  value: string | null;
  onChange: (value: string | null) => void;
  onBlur?: () => void;
}

const PAUSE_MS = 200;

/** The search text, debounced. */
export function usePickerSearch(): { search: string; setTyped: (text: string) => void } {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, PAUSE_MS);
  return { search, setTyped };
}

export interface SearchSelectProps extends PickerProps {
  /** The search results. */
  options: readonly PickerOption[];
  /** The selected option, if it was loaded separately. */
  chosen: PickerOption | undefined;
  onType: (text: string) => void;
  nothingFound: string;
}

/** A select whose options come from a search on the node. */
export function SearchSelect({
  options,
  chosen,
  onType,
  nothingFound,
  value,
  onChange,
  ...rest
}: SearchSelectProps) {
  const isListed = options.some((option) => option.value === value);
  const extra = value && !isListed ? [chosen ?? { value, label: value }] : [];
  const data = [...extra, ...options];
  const notes = new Map(data.map((option) => [option.value, option.note]));
  return (
    <Select
      {...rest}
      data={data.map(({ value: id, label }) => ({ value: id, label }))}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={clearButtonProps(`Clear: ${rest['aria-label'] ?? rest.label}`)}
      // The node has already filtered the options.
      filter={({ options: found }) => found}
      onSearchChange={(text) => onType(data.some(({ label }) => label === text) ? '' : text)}
      nothingFoundMessage={nothingFound}
      renderOption={({ option }) => (
        <span>
          <span className="wrap-anywhere">{option.label}</span>
          {notes.get(option.value) && (
            <span className="muted small" style={{ display: 'block' }}>
              {notes.get(option.value)}
            </span>
          )}
        </span>
      )}
    />
  );
}
