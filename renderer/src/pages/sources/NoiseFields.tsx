import { ActionIcon, Button, Select, TagsInput, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { Link } from 'react-router';
import type { NoisePreview } from '../../../../shared/collection/diff.ts';
import {
  MAX_NOISE_RULES,
  NOISE_RULE_KINDS,
  type NoiseFindings,
  type NoiseRule,
  type NoiseRuleKind,
  noiseRulesSchema,
  type PictureRegion,
  type RuleOutcome,
  type Watch,
  watchedRegion,
} from '../../../../shared/collection/noise.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { PictureCut } from '../../components/content/PagePictures.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../format.ts';
import { pictureUrl } from '../captures/PagePicture.tsx';
import { DiffContent } from '../timeline/EventDiff.tsx';
import { type DraftErrors, errorsOf } from './sourceForm.ts';
import classes from './sources.module.css';

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

function RuleRow({ rule, number, error, onChange, onRemove }: RuleRowProps) {
  const { kind, value, note, columns = [] } = rule;
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
        classNames={{ input: classes.typed }}
        value={value}
        error={error?.value}
        onChange={(event) => onChange({ value: event.currentTarget.value })}
      />
      {kind === 'table' && (
        <TagsInput
          aria-label={`Columns of rule ${number}`}
          placeholder={columns.length === 0 ? 'All columns, or names' : ''}
          className={classes.columns}
          value={columns}
          onChange={(names) => onChange({ columns: names })}
          splitChars={[]}
        />
      )}
      <TextInput
        aria-label={`Note for rule ${number}`}
        placeholder="Note, for example: visitor counter"
        className={classes.ruleNote}
        value={note}
        error={error?.note}
        onChange={(event) => onChange({ note: event.currentTarget.value })}
      />
      <ActionIcon
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
  const plain = typed.map(({ kind, value, note, columns = [] }) => ({
    kind,
    value: value.trim(),
    ...(kind === 'table' && columns.length > 0 && { columns }),
    note: note.trim(),
  }));
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
  /** The newest page capture, for its picture. */
  page: string | null;
  watch: Watch | null;
  rules: readonly TypedRule[];
  /** Whether the preview runs without being asked for. */
  runsAtOnce: boolean;
  /** Applies them to all past versions. Undefined while they are not saved. */
  onRun: (() => void) | undefined;
  /** Reports the errors of the rules and of other fields, which are shown there. */
  onErrors: (errors: NoiseErrors, others: DraftErrors) => void;
}

/** Previews the watched part and the rules on the newest changes of the source. Nothing is saved. */
export function NoisePreviewPanel({
  sourceId,
  page,
  watch,
  rules,
  runsAtOnce,
  onRun,
  onErrors,
}: NoiseTrialProps) {
  const trial = useMutation({
    mutationFn: (scope: PreviewedScope) =>
      call('previewNoiseRules', { params: { id: sourceId }, body: scope }),
    onError: (error) => onErrors(ruleErrorsOf(error, 'rules'), errorsOf(error)),
  });
  const run = () => {
    const parsed = rulesOf(rules);
    if ('errors' in parsed) return onErrors(parsed.errors, {});
    onErrors({}, {});
    trial.mutate({ watch, rules: parsed.value });
  };
  const runNow = useEffectEvent(run);
  useEffect(() => {
    if (runsAtOnce) runNow();
  }, [runsAtOnce]);
  const region = watchedRegion(trial.variables?.watch ?? null);
  const isShown =
    trial.isError &&
    Object.keys({ ...ruleErrorsOf(trial.error, 'rules'), ...errorsOf(trial.error) }).length > 0;
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
        {trial.data && (
          <Findings preview={trial.data} picture={region && page ? { page, region } : undefined} />
        )}
        {trial.data?.events[0] && (
          <RemainingDifferences
            key={trial.submittedAt}
            sourceId={sourceId}
            scope={trial.variables}
            event={trial.data.events[0].event}
          />
        )}
        {trial.isError && !isShown && <ErrorNote error={trial.error} onRetry={run} />}
      </div>
    </div>
  );
}

/** The newest picture, and the region that is watched of it. */
interface WatchedPicture {
  page: string;
  region: PictureRegion;
}

interface FindingsProps {
  preview: NoisePreview;
  picture: WatchedPicture | undefined;
}

function Findings({ preview, picture }: FindingsProps) {
  const { events, total } = preview;
  const [newest] = events;
  if (!newest)
    return (
      <div className={`${classes.formPreviewed} stack gap-2 sunk`}>
        <Watched newest={preview.newest} picture={picture} />
        <p className="small muted">The source has not changed yet, so there are no changes to preview.</p>
      </div>
    );
  const alerts = events.filter((event) => !event.noise?.is_noise).length;
  const versions = `${events.length === total ? '' : 'the last '}${countOf(events.length + 1, 'version')}`;
  return (
    <div className={`${classes.formPreviewed} stack gap-2 sunk`}>
      <Watched newest={preview.newest} picture={picture} />
      <p className="small">
        <strong>
          Would have alerted {alerts === 1 ? 'once' : `${alerts} times`} in {versions}.
        </strong>{' '}
        {newest.noise && newest.noise.rules.length > 0 && 'Latest change:'}
      </p>
      {newest.noise && newest.noise.rules.length > 0 && (
        <ul className="bullets compact wrap-anywhere">
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
            <StateBadge kind="noise" value={noiseState(found)} />
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

function noiseState(found: NoiseFindings | null): 'unknown' | 'outside' | 'noise' | 'news' {
  if (found === null) return 'unknown';
  if (found.outside) return 'outside';
  return found.is_noise ? 'noise' : 'news';
}

/** What of the newest version is watched. */
function Watched({ newest, picture }: Pick<NoisePreview, 'newest'> & Pick<FindingsProps, 'picture'>) {
  if (!newest?.watch) return null;
  const { outcome, found } = newest.watch;
  if (outcome === 'timed_out')
    return <p className="small">Looking for the part took too long. Simplify it.</p>;
  if (found.to === 0)
    return (
      <p className="small">
        <strong>The part is not in the newest {picture ? 'picture' : 'version'}.</strong> Until it is, every
        change counts.
      </p>
    );
  if (picture)
    return (
      <div className="small stack gap-1">
        <strong>Watched in the newest picture:</strong>
        <div className={classes.cut}>
          <PictureCut src={pictureUrl(picture.page)} region={picture.region} alt="The watched region" />
        </div>
      </div>
    );
  return (
    <div className="small stack gap-1">
      <strong>Watched in the newest version:</strong>
      <blockquote className={`${classes.excerpt} wrap-anywhere`}>
        {newest.text || <span className="muted">no text</span>}
      </blockquote>
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

interface PreviewedScope {
  watch: Watch | null;
  rules: NoiseRule[];
}

interface WhatIsLeftProps {
  sourceId: string;
  scope: PreviewedScope;
  /** The event id of the change. */
  event: number;
}

/** Shows what counts of a change. */
function RemainingDifferences({ sourceId, scope, event }: WhatIsLeftProps) {
  const comparison = useMutation({
    mutationFn: () => call('previewNoiseRules', { params: { id: sourceId }, body: { ...scope, event } }),
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
          <p className="small">
            {diff.noise.outside
              ? 'Nothing changed in the watched part.'
              : 'No differences remain. The rules explain the entire change.'}
          </p>
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
        mt="0.45rem"
        onClick={() => comparison.mutate()}
        loading={comparison.isPending}
      >
        Show remaining differences in the latest change
      </Button>
      {comparison.isError && <ErrorNote error={comparison.error} onRetry={() => comparison.mutate()} />}
    </>
  );
}
