import { Input, NumberInput, Select } from '@mantine/core';
import { useId, useState } from 'react';
import { INTERVAL_UNITS, type IntervalUnit, unitOf } from '../../format/interval.ts';
import classes from './IntervalInput.module.css';

export interface IntervalInputProps {
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
