import { Radio } from '@mantine/core';
import type { TablerIcon } from '@tabler/icons-react';
import classes from './ChoiceCards.module.css';

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  meaning: string;
  icon?: TablerIcon;
}

export interface ChoiceCardsProps<Value extends string> {
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
      <div className={classes.cards} data-pairs={choices.length % 2 === 0 || undefined}>
        {choices.map(({ value: choice, label, meaning, icon: Icon }) => (
          <Radio.Card key={choice} value={choice} className={classes.card}>
            <Radio.Indicator size="xs" className={classes.dot} />
            <span>
              <span className={classes.label}>
                {Icon && <Icon size={16} stroke={1.9} aria-hidden />}
                {label}
              </span>
              <span className={classes.meaning}>{meaning}</span>
            </span>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}
