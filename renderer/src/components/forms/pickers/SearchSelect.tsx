import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { clearButton } from '../clearButton.ts';

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

/** What is typed into a picker once the typing pauses. */
export function usePickerSearch(): { search: string; setTyped: (text: string) => void } {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, PAUSE_MS);
  return { search, setTyped };
}

export interface SearchSelectProps extends PickerProps {
  /** What the node found for what is typed. */
  options: readonly PickerOption[];
  /** The chosen one, where the node was asked for it apart. */
  chosen: PickerOption | undefined;
  onType: (text: string) => void;
  nothingFound: string;
}

/** A select whose options the node searches as one types. */
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
      clearButtonProps={clearButton(`Clear: ${rest['aria-label'] ?? rest.label}`)}
      // The node has searched already.
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
