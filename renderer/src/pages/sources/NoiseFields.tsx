import { ActionIcon, Button, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { NoisePreview } from '../../../../shared/collection/diff.ts';
import {
  MAX_NOISE_RULES,
  NOISE_RULE_KINDS,
  type NoiseRule,
  type NoiseRuleKind,
  noiseRulesSchema,
  type RuleOutcome,
} from '../../../../shared/collection/noise.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import { DiffContent } from '../timeline/EventDiff.tsx';
import classes from './SourceForm.module.css';

interface NoiseFieldsProps {
  rules: readonly TypedRule[];
  errors: NoiseErrors;
  onChange: (rules: readonly TypedRule[]) => void;
}

/** The noise rules of a source. */
export function NoiseFields({ rules, errors, onChange }: NoiseFieldsProps) {
  return (
    <fieldset className={`${classes.rules} stack gap-3`}>
      <legend>Parts to ignore</legend>
      <p className="small muted">
        A noise rule names a part whose changes do not matter, such as a clock or a visitor counter. That part
        is left out of comparisons, and a change that affects nothing else is marked as noise. Archived
        objects are not affected. Rules and notes are public.
      </p>
      {rules.length > 0 && (
        <ol className="stack gap-3 plain">
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
        className="self-start"
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
    <div className={`${classes.rule} stack gap-2 start`}>
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
        classNames={{ input: classes.ruleValue }}
        value={value}
        error={error?.value}
        onChange={(event) => onChange({ value: event.currentTarget.value })}
      />
      <TextInput
        aria-label={`Note for rule ${number}`}
        placeholder="Note, for example: visitor counter"
        className={classes.ruleNote}
        value={note}
        error={error?.note}
        onChange={(event) => onChange({ note: event.currentTarget.value })}
      />
      <ActionIcon
        variant="subtle"
        color="gray"
        className={`${classes.remove} mt-1`}
        aria-label={`Remove rule ${number}`}
        onClick={onRemove}
      >
        <IconX size={16} />
      </ActionIcon>
    </div>
  );
}

/** A rule being typed, with a stable key for its row. */
export interface TypedRule extends NoiseRule {
  key: string;
}

/** Error messages by the rule's position. */
export type NoiseErrors = Readonly<Record<number, { value?: string; note?: string } | undefined>>;

const RULE_KINDS: Record<NoiseRuleKind, { label: string; example: string }> = {
  selector: { label: 'CSS selector', example: '.visitor-counter' },
  xpath: { label: 'XPath', example: '//div[@id="visits"]' },
  heading: { label: 'Heading and text', example: 'Visitors today' },
  table: { label: 'Table', example: 'Its caption, or 2 for the second' },
  pattern: { label: 'Pattern', example: 'Generated at \\d\\d:\\d\\d' },
  json_path: { label: 'JSON path', example: '$.meta.generated_at' },
};

/** Browsers offer `crypto.randomUUID` to pages over HTTPS and on loopback only. */
function rowKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-');
}

export function typedRules(rules: readonly NoiseRule[]): TypedRule[] {
  return rules.map((rule) => ({ ...rule, key: rowKey() }));
}

function emptyRule(): TypedRule {
  return { kind: 'selector', value: '', note: '', key: rowKey() };
}

/** Validates the rules with the node's schema. */
export function rulesOf(typed: readonly TypedRule[]): { value: NoiseRule[] } | { errors: NoiseErrors } {
  const plain = typed.map(({ kind, value, note }) => ({ kind, value: value.trim(), note: note.trim() }));
  const parsed = noiseRulesSchema.safeParse(plain);
  if (parsed.success) return { value: parsed.data };
  return {
    errors: byRule(
      parsed.error.issues.map(({ path, message }) => [
        path.map(String),
        plain[Number(path[0])]?.value === '' ? 'Enter a value, or remove the rule.' : message,
      ]),
    ),
  };
}

/** The node's errors for rules, by their position in `member` of the request. */
export function ruleErrorsOf(error: unknown, member: 'rules' | 'noise_rules'): NoiseErrors {
  if (!(error instanceof ApiProblem)) return {};
  return byRule(
    (error.document.errors ?? [])
      .map(({ path, message }) => [path.split('/').slice(1), message] as const)
      .filter(([[first]]) => first === member)
      .map(([[, ...path], message]) => [path, message]),
  );
}

function byRule(faults: readonly (readonly [path: string[], message: string])[]): NoiseErrors {
  const errors: Record<number, { value?: string; note?: string }> = {};
  for (const [[index, field], message] of faults) {
    // What is wrong with the list as a whole belongs to no rule.
    if (index === undefined) continue;
    const named = field === 'note' ? 'note' : 'value';
    errors[Number(index)] = { [named]: message, ...errors[Number(index)] };
  }
  return errors;
}

interface NoiseTrialProps {
  sourceId: string;
  rules: readonly TypedRule[];
  /** Applies the rules to all past versions. Undefined while the rules are not saved. */
  onRun: (() => void) | undefined;
  /** Reports the rules' errors, which are shown next to the rules. */
  onErrors: (errors: NoiseErrors) => void;
}

/** Previews the rules on the newest changes of the source. Nothing is saved. */
export function NoisePreviewPanel({ sourceId, rules, onRun, onErrors }: NoiseTrialProps) {
  const trial = useMutation({
    mutationFn: (newRules: NoiseRule[]) =>
      call('previewNoiseRules', { params: { id: sourceId }, body: { rules: newRules } }),
    onError: (error) => onErrors(ruleErrorsOf(error, 'rules')),
  });
  const run = () => {
    const parsed = rulesOf(rules);
    if ('errors' in parsed) return onErrors(parsed.errors);
    onErrors({});
    trial.mutate(parsed.value);
  };
  const isShown = trial.isError && Object.keys(ruleErrorsOf(trial.error, 'rules')).length > 0;
  return (
    <div className={`${classes.trial} stack gap-3 items-start`}>
      <div className="cluster stretch gap-2">
        <Button variant="default" size="xs" onClick={run} loading={trial.isPending}>
          Preview
        </Button>
        {onRun && (
          <Button variant="default" size="xs" onClick={onRun}>
            Apply to all past versions
          </Button>
        )}
      </div>
      <div aria-live="polite">
        {trial.data && <Findings preview={trial.data} />}
        {trial.data?.events[0] && (
          <RemainingDifferences
            key={trial.submittedAt}
            sourceId={sourceId}
            rules={trial.variables}
            event={trial.data.events[0].event}
          />
        )}
        {trial.isError && !isShown && <ErrorNote error={trial.error} onRetry={run} />}
      </div>
    </div>
  );
}

function Findings({ preview: { events, total } }: { preview: NoisePreview }) {
  const [newest] = events;
  if (!newest)
    return <p className="small muted">The source has not changed yet, so there is nothing to preview.</p>;
  const noise = events.filter((event) => event.noise?.is_noise).length;
  return (
    <div className={`${classes.previewed} stack gap-2 sunk`}>
      <p className="small">
        <strong>
          {noise} of {events.length === total ? '' : 'the last '}
          {countOf(events.length, 'change')} would be noise.
        </strong>{' '}
        {newest.noise && newest.noise.rules.length > 0 && 'Latest change:'}
      </p>
      {newest.noise && newest.noise.rules.length > 0 && (
        <ul className={`${classes.effects} compact wrap-anywhere`}>
          {newest.noise.rules.map((rule, index) => (
            // Two rules may be equal; their order is that of the form.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index}>
              <code>{rule.value}</code> {ruleText(rule)}
            </li>
          ))}
        </ul>
      )}
      <ul
        className={`${classes.events} stack gap-1 compact plain`}
        aria-label="Effect of the rules on the newest changes"
      >
        {events.map(({ event, observed_at, noise: found, problem }) => (
          <li key={event} className="cluster gap-4 baseline">
            <StateBadge kind="noise" value={found === null ? 'unknown' : found.is_noise ? 'noise' : 'news'} />
            <Link to={`/timeline/${event}`} target="_blank">
              Event {event}
            </Link>
            <span className="muted">
              <TimeText at={observed_at} />
              {problem && `: ${problem}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The effect of a rule on the two versions of a change. */
function ruleText({ outcome, ignored }: RuleOutcome): string {
  switch (outcome) {
    case 'not_applicable':
      return 'does not apply to this type of object.';
    case 'timed_out':
      return 'took too long and was skipped. Simplify it.';
    case 'failed':
      return 'could not be applied.';
    case 'applied':
      return ignored.from + ignored.to === 0
        ? 'matches nothing.'
        : `ignores ${countOf(ignored.from, 'part')} before and ${formatCount(ignored.to)} after.`;
  }
}

interface WhatIsLeftProps {
  sourceId: string;
  rules: NoiseRule[];
  /** The event id of the change. */
  event: number;
}

/** Shows the part of a change that no rule explains. */
function RemainingDifferences({ sourceId, rules, event }: WhatIsLeftProps) {
  const comparison = useMutation({
    mutationFn: () => call('previewNoiseRules', { params: { id: sourceId }, body: { rules, event } }),
  });
  const diff = comparison.data?.diff;
  if (diff) {
    return (
      <section
        className={`${classes.left} mt-3 scroll`}
        aria-label="Remaining differences in the latest change"
        // The text scrolls, so it must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {diff.noise.is_noise ? (
          <p className="small">No differences remain. The rules explain the entire change.</p>
        ) : (
          <DiffContent diff={diff} />
        )}
      </section>
    );
  }
  return (
    <>
      <Button
        variant="subtle"
        size="xs"
        className="mt-2"
        onClick={() => comparison.mutate()}
        loading={comparison.isPending}
      >
        Show remaining differences in the latest change
      </Button>
      {comparison.isError && <ErrorNote error={comparison.error} onRetry={() => comparison.mutate()} />}
    </>
  );
}
