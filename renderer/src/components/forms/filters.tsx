import { CloseButton, Select, type SelectProps, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useCallback, useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { clearButtonProps } from './buttons.tsx';

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

interface FilterSelectProps extends Omit<SelectProps, 'label' | 'value' | 'onChange'> {
  /** The accessible name: `Status`. */
  label: string;
  value: string | undefined;
  /** Called with an empty text if any value will do. */
  onChange: (value: string) => void;
}

/** A filter whose values are chosen from a list. */
export function FilterSelect({ label, value, onChange, ...props }: FilterSelectProps) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? '')}
      clearable
      clearButtonProps={clearButtonProps(`Any ${label.toLowerCase()}`)}
      {...props}
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

export type Filters<Name extends string> = Partial<Record<Name, string>>;

export interface UrlFilters<Name extends string> {
  /** The filters that are set and not empty. */
  values: Filters<Name>;
  /** Sets filters; an empty text removes one. The rest of the query is kept, except for `reset`. */
  set: (changes: Filters<Name>) => void;
  clear: () => void;
  isAny: boolean;
}

/**
 * Filters stored in the page's URL, so that a view can be bookmarked and shared. Changes replace the history
 * entry. `reset` names parameters that a new filter invalidates, such as the offset.
 */
export function useUrlFilters<Name extends string>(
  names: readonly Name[],
  reset: readonly string[] = [],
): UrlFilters<Name> {
  const [search, setSearch] = useSearchParams();
  const text = search.toString();
  const values = useMemo(() => {
    const given = new URLSearchParams(text);
    const found: Filters<Name> = {};
    for (const name of names) found[name] = given.get(name) || undefined;
    return found;
  }, [text, names]);
  const set = useCallback(
    (changes: Filters<Name>) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const name of reset) after.delete(name);
          for (const [name, value] of Object.entries<string | undefined>(changes)) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
    [setSearch, reset],
  );
  const clear = useCallback(
    () => set(Object.fromEntries(names.map((name) => [name, ''])) as Filters<Name>),
    [set, names],
  );
  return { values, set, clear, isAny: Object.values(values).some(Boolean) };
}
