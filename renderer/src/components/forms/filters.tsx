import { CloseButton, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

const PAUSE_MS = 250;

export interface SearchFieldProps {
  /** The accessible name: `Search sources`. */
  label: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}

/** A search field. `onChange` is called once typing pauses, or at once on Enter. */
export function SearchField({ label, placeholder, value, onChange }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [focused, setFocused] = useState(false);
  const [seen, setSeen] = useState(value);
  // Follows changes from outside (the URL, a cleared filter), but never overwrites a field while someone
  // types.
  if (value !== seen) {
    setSeen(value);
    if (!focused) setTyped(value);
  }
  const showLater = useDebouncedCallback((text: string) => onChange(text.trim()), PAUSE_MS);
  const showNow = (text: string) => {
    showLater.cancel();
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={
        typed && (
          <CloseButton
            size="sm"
            aria-label="Clear search"
            onClick={() => {
              setTyped('');
              showNow('');
            }}
          />
        )
      }
      value={typed}
      onFocus={() => setFocused(true)}
      onBlur={() => {
        setFocused(false);
        showNow(typed);
      }}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        showLater(event.currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') showNow(typed);
      }}
    />
  );
}

export interface FirstUse {
  /** True from the first time the pointer or the focus enters. */
  isUsed: boolean;
  /** The props of the element. */
  props: { onPointerEnter: () => void; onFocus: () => void };
}

/** Reports the first use of an element, so that its choices are not requested before. */
export function useFirstUse(): FirstUse {
  const [isUsed, setIsUsed] = useState(false);
  const use = () => setIsUsed(true);
  return { isUsed, props: { onPointerEnter: use, onFocus: use } };
}
