import { Input, NumberInput, Radio, Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { TablerIcon } from '@tabler/icons-react';
import { useId, useState } from 'react';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { TreeNode } from '../../../../shared/archive/study.ts';
import { useCall } from '../../api/useCall.ts';
import { authorsLine, INTERVAL_UNITS, type IntervalUnit, unitOf } from '../../format.ts';
import { clearButtonProps } from './buttons.tsx';
import classes from './forms.module.css';

/** Selects a study by its title. */
export function StudyPicker(props: PickerProps) {
  const { search, setTyped } = usePickerSearch();
  const found = useCall('listStudies', { query: { q: search, limit: 20 } }, { keepPrevious: true });
  const chosen = useCall(
    'readStudy',
    { params: { id: props.value ?? '' } },
    { enabled: props.value !== null },
  );
  return (
    <SearchSelect
      {...props}
      options={(found.data?.items ?? []).map(({ id, title, status }) => ({
        value: id,
        label: title,
        note: status,
      }))}
      chosen={chosen.data && { value: chosen.data.id, label: chosen.data.title }}
      onType={setTyped}
      nothingFound="No study matches."
    />
  );
}

/** Selects a subject from the tree. */
export function SubjectPicker({ value, onChange, ...rest }: PickerProps) {
  const tree = useCall('readTree');
  const nodes = flatten(tree.data?.nodes ?? []);
  const known = nodes.some((node) => node.path === value);
  const options = nodes.map(({ path, title }) => ({ value: path, label: `${path} (${title})` }));
  return (
    <Select
      {...rest}
      data={value && !known ? [{ value, label: value }, ...options] : options}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={clearButtonProps(`Clear: ${rest['aria-label'] ?? rest.label}`)}
      limit={200}
      nothingFoundMessage="No subject matches."
    />
  );
}

function flatten(nodes: readonly TreeNode[]): TreeNode[] {
  return nodes.flatMap((node) => [node, ...flatten(node.children)]);
}

/** Selects a pack of this archive by searching. */
export function PackPicker(props: PickerProps) {
  const { search, setTyped } = usePickerSearch();
  const found = useCall('listPacks', { query: { q: search, limit: 20 } }, { keepPrevious: true });
  const chosen = useCall(
    'readPack',
    { params: { id: props.value ?? '' } },
    { enabled: props.value !== null },
  );
  return (
    <SearchSelect
      {...props}
      options={(found.data?.items ?? []).map(optionOf)}
      chosen={chosen.data && optionOf(chosen.data)}
      onType={setTyped}
      nothingFound="No pack matches."
    />
  );
}

function optionOf(pack: Pack): PickerOption {
  return {
    value: pack.id,
    label: pack.title,
    note: `${authorsLine(pack.authors)} · ${pack.outcome} · ${pack.evidence.received_at.slice(0, 10)}`,
  };
}

interface PickerOption {
  value: string;
  label: string;
  /** A second line, such as the authors of a pack. */
  note?: string;
}

interface PickerProps
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
function usePickerSearch(): { search: string; setTyped: (text: string) => void } {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, PAUSE_MS);
  return { search, setTyped };
}

interface SearchSelectProps extends PickerProps {
  /** The search results. */
  options: readonly PickerOption[];
  /** The selected option, if it was loaded separately. */
  chosen: PickerOption | undefined;
  onType: (text: string) => void;
  nothingFound: string;
}

/** A select whose options come from a search on the node. */
function SearchSelect({
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

interface IntervalInputProps {
  label: string;
  description?: string;
  /** The interval in minutes as text; empty for none. */
  value: string;
  error?: string;
  onChange: (minutes: string) => void;
}

const UNITS = Object.keys(INTERVAL_UNITS) as IntervalUnit[];

/** An interval that is entered in minutes, hours or days, and kept in minutes. */
export function IntervalInput({ label, description, value, error, onChange }: IntervalInputProps) {
  const id = useId();
  const [unit, setUnit] = useState<IntervalUnit>(() => (value === '' ? 'hours' : unitOf(Number(value))));
  const amount = value === '' ? '' : tidy(Number(value) / INTERVAL_UNITS[unit]);
  const change = (typed: string | number, in_: IntervalUnit) =>
    onChange(typed === '' ? '' : String(tidy(Number(typed) * INTERVAL_UNITS[in_])));
  return (
    <Input.Wrapper
      label={label}
      description={description}
      error={error}
      labelProps={{ htmlFor: id }}
      inputWrapperOrder={['label', 'description', 'input', 'error']}
    >
      <div className={classes.input}>
        <NumberInput
          id={id}
          aria-invalid={error ? true : undefined}
          min={0}
          value={amount}
          onChange={(typed) => change(typed, unit)}
        />
        <Select
          aria-label={`Unit of “${label}”`}
          data={UNITS}
          value={unit}
          allowDeselect={false}
          onChange={(chosen) => {
            const next = (chosen ?? 'minutes') as IntervalUnit;
            setUnit(next);
            change(amount, next);
          }}
        />
      </div>
    </Input.Wrapper>
  );
}

/** Without the digits that floating-point multiplication adds. */
function tidy(number: number): number {
  return Number(number.toFixed(6));
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  meaning: string;
  icon?: TablerIcon;
}

interface ChoiceCardsProps<Value extends string> {
  label: string;
  choices: readonly Choice<Value>[];
  value: Value | null;
  onChange: (value: Value) => void;
  id?: string;
  error?: string;
}

/** A choice between a few options, each with an explanation. */
export function ChoiceCards<Value extends string>({
  label,
  choices,
  value,
  onChange,
  id,
  error,
}: ChoiceCardsProps<Value>) {
  return (
    <Radio.Group
      id={id}
      tabIndex={-1}
      aria-label={label}
      value={value ?? ''}
      onChange={(next) => onChange(next as Value)}
      error={error}
    >
      <div className={`${classes.cards} stack gap-3`} data-pairs={choices.length % 2 === 0 || undefined}>
        {choices.map(({ value: choice, label, meaning, icon: Icon }) => (
          <Radio.Card key={choice} value={choice} className={`${classes.card} line gap-3 start`}>
            <Radio.Indicator size="xs" mt="0.2rem" />
            <span>
              <span className="line gap-2 strong">
                {Icon && <Icon size={16} stroke={1.9} aria-hidden />}
                {label}
              </span>
              <span className="block small muted">{meaning}</span>
            </span>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}
