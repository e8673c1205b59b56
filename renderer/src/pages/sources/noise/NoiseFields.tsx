import { ActionIcon, Button, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import {
  MAX_NOISE_RULES,
  NOISE_RULE_KINDS,
  type NoiseRuleKind,
} from '../../../../../shared/collection/noise.ts';
import classes from './NoiseFields.module.css';
import { emptyRule, type NoiseErrors, RULE_KINDS, type TypedRule } from './noiseRules.ts';

export interface NoiseFieldsProps {
  rules: readonly TypedRule[];
  errors: NoiseErrors;
  onChange: (rules: readonly TypedRule[]) => void;
}

/** The noise rules of a source. */
export function NoiseFields({ rules, errors, onChange }: NoiseFieldsProps) {
  return (
    <fieldset className={classes.rules}>
      <legend>Parts to ignore</legend>
      <p className="small muted">
        Each noise rule names parts that change without being news, such as a clock or a visitor counter. They
        are left out of comparisons, and a change of nothing else is marked as noise. Archived objects are not
        affected. Rules and notes are public.
      </p>
      {rules.length > 0 && (
        <ol className={classes.list}>
          {rules.map((rule, index) => (
            <li key={rule.key}>
              <RuleRow
                rule={rule}
                number={index + 1}
                error={errors[index]}
                onChange={(changes) => onChange(rules.with(index, { ...rule, ...changes }))}
                onRemove={() => onChange(rules.toSpliced(index, 1))}
              />
            </li>
          ))}
        </ol>
      )}
      <Button
        variant="default"
        size="xs"
        className={classes.add}
        leftSection={<IconPlus size={15} aria-hidden />}
        disabled={rules.length >= MAX_NOISE_RULES}
        onClick={() => onChange([...rules, emptyRule()])}
      >
        Add rule
      </Button>
    </fieldset>
  );
}

interface RuleRowProps {
  rule: TypedRule;
  /** Counted from 1, for screen readers. */
  number: number;
  error: NoiseErrors[number];
  onChange: (changes: Partial<TypedRule>) => void;
  onRemove: () => void;
}

function RuleRow({ rule: { kind, value, note }, number, error, onChange, onRemove }: RuleRowProps) {
  const { example } = RULE_KINDS[kind];
  return (
    <div className={classes.rule}>
      <Select
        aria-label={`Kind of rule ${number}`}
        data={NOISE_RULE_KINDS.map((known) => ({ value: known, label: RULE_KINDS[known].label }))}
        allowDeselect={false}
        value={kind}
        onChange={(chosen) => onChange({ kind: chosen as NoiseRuleKind })}
      />
      <TextInput
        aria-label={`Rule ${number}`}
        placeholder={example}
        spellCheck={false}
        autoComplete="off"
        className={classes.value}
        classNames={{ input: classes.typed }}
        value={value}
        error={error?.value}
        onChange={(event) => onChange({ value: event.currentTarget.value })}
      />
      <TextInput
        aria-label={`Note for rule ${number}`}
        placeholder="Note, for example: visitor counter"
        className={classes.note}
        value={note}
        error={error?.note}
        onChange={(event) => onChange({ note: event.currentTarget.value })}
      />
      <ActionIcon
        variant="subtle"
        color="gray"
        className={classes.remove}
        aria-label={`Remove rule ${number}`}
        onClick={onRemove}
      >
        <IconX size={16} />
      </ActionIcon>
    </div>
  );
}
