import { SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { LICENSES, type License, OUTCOMES, VERDICTS } from '../../../../../shared/archive/vocabulary.ts';
import { useCall } from '../../../api/useCall.ts';
import { Markdown } from '../../../components/content/Markdown.tsx';
import { STATES } from '../../../components/data/states.ts';
import { ChoiceCards, StudyPicker, SubjectPicker } from '../../../components/forms/pickers.tsx';
import { authorsLine } from '../../../format.ts';
import { PackLink } from '../../packs/PackHeader.tsx';
import classes from '../assemble.module.css';
import type { Draft } from '../draft.ts';
import { useDraft } from '../draftStore.ts';
import { jumpToField, useField, usePackForm } from '../packForm.ts';
import { FormSection } from './ResultsSection.tsx';

/** The title. A dropped folder fills it in. */
export function TitleSection() {
  const { draft, change } = usePackForm();
  const title = useField('title');
  return (
    <FormSection title="About">
      <TextInput
        {...title}
        label="Title"
        required
        withAsterisk={false}
        value={draft.title}
        onChange={(event) => change({ title: event.currentTarget.value })}
      />
    </FormSection>
  );
}

/** Summary and keywords. */
export function AboutSection() {
  const { draft, change } = usePackForm();
  const keywords = useField('keywords');
  return (
    <FormSection title="Summary and keywords" hint="Both are optional.">
      <Summary />
      <TagsInput
        {...keywords}
        label="Keywords"
        description="Press Enter after each keyword."
        value={draft.keywords}
        onChange={(next) => change({ keywords: next })}
        splitChars={[',', ';']}
        maxTags={50}
      />
    </FormSection>
  );
}

function Summary() {
  const { draft, change } = usePackForm();
  const [view, setView] = useState('write');
  const summary = useField('summary');
  return (
    <div>
      <div className="mb-1 line end between">
        <label htmlFor={summary.id} className="small strong">
          Summary
        </label>
        <SegmentedControl
          size="xs"
          aria-label="Summary view"
          value={view}
          onChange={setView}
          data={[
            { value: 'write', label: 'Write' },
            { value: 'read', label: 'Preview' },
          ]}
        />
      </div>
      {view === 'write' ? (
        <Textarea
          {...summary}
          aria-describedby={`${summary.id}-hint`}
          autosize
          minRows={4}
          maxRows={20}
          value={draft.summary}
          onChange={(event) => change({ summary: event.currentTarget.value })}
        />
      ) : (
        <div className={`${classes.preview} card`}>
          {draft.summary ? <Markdown text={draft.summary} /> : <p className="muted">Nothing to preview.</p>}
        </div>
      )}
      <p id={`${summary.id}-hint`} className="muted small">
        Describe the question, the work and the findings. Markdown is supported.
      </p>
    </div>
  );
}

const LICENSE_MEANINGS: Record<License, string> = {
  'CC-BY-4.0': 'Anyone may use, change and share the files if they credit the authors.',
  'CC0-1.0': 'Anyone may use the files for any purpose, without conditions.',
};

/** The licence. */
export function LicenseSection() {
  const { draft, change } = usePackForm();
  const license = useField('license');
  return (
    <FormSection
      title="Licence"
      hint="What others may do with the files. It cannot be changed after publishing."
    >
      <ChoiceCards
        id={license.id}
        error={license.error}
        label="Licence"
        choices={LICENSES.map((value) => ({ value, label: value, meaning: LICENSE_MEANINGS[value] }))}
        value={draft.license}
        onChange={(value) => change({ license: value })}
      />
    </FormSection>
  );
}

/** The outcome. */
export function OutcomeSection() {
  const { draft, change } = usePackForm();
  const outcome = useField('outcome');
  return (
    <FormSection title="Outcome" hint="How the result compares with the expectation.">
      <ChoiceCards
        id={outcome.id}
        error={outcome.error}
        label="Outcome"
        choices={OUTCOMES.map((value) => ({ value, ...STATES.outcome[value] }))}
        value={draft.outcome}
        onChange={(value) => change({ outcome: value })}
      />
    </FormSection>
  );
}

const COMPLETENESS = [
  {
    value: 'complete',
    label: 'Complete',
    meaning: 'It contains everything that others need to repeat the work. The pack is tagged replicable.',
  },
  {
    value: 'partial',
    label: 'Not complete',
    meaning: 'Others could not repeat the work from it alone. The pack is tagged report-only.',
  },
] as const;

/** The method, and whether it is complete. */
export function MethodSection() {
  const { draft, change } = usePackForm();
  return (
    <FormSection
      title="Method"
      hint="How the result was obtained. A pack with a complete method is tagged replicable; without one it is tagged report-only."
    >
      <ChoiceCards
        label="Method"
        choices={[
          { value: 'given', label: 'Method included', meaning: 'Text, a link, or both.' },
          { value: 'none', label: 'No method', meaning: 'The pack only reports the result.' },
        ]}
        value={draft.hasMethod ? 'given' : 'none'}
        onChange={(value) => change({ hasMethod: value === 'given' })}
      />
      {draft.hasMethod && <MethodFields />}
    </FormSection>
  );
}

function MethodFields() {
  const { draft, change, errorOf, touch } = usePackForm();
  const text = useField('method', 'text');
  const link = useField('method', 'link');
  const complete = useField('method', 'complete');
  const { method } = draft;
  const set = (changes: Partial<Draft['method']>) => change({ method: { ...method, ...changes } });
  return (
    <>
      <Textarea
        {...text}
        error={text.error ?? errorOf('field/method')}
        onBlur={() => touch('field/method')}
        label="Text"
        autosize
        minRows={4}
        maxRows={24}
        value={method.text}
        onChange={(event) => set({ text: event.currentTarget.value })}
      />
      <TextInput
        {...link}
        label="Link"
        type="url"
        placeholder="https://"
        value={method.link}
        onChange={(event) => set({ link: event.currentTarget.value })}
      />
      <ChoiceCards
        id={complete.id}
        error={complete.error}
        label="Completeness of the method"
        choices={COMPLETENESS}
        value={method.complete === null ? null : method.complete ? 'complete' : 'partial'}
        onChange={(value) => set({ complete: value === 'complete' })}
      />
    </>
  );
}

/** The study and the subject of the pack. */
export function StudyAndSubjectSection() {
  const { draft, change } = usePackForm();
  const study = useField('study');
  const node = useField('node');
  return (
    <FormSection
      title="Study and subject"
      hint={
        <>
          Both are optional. You can create new ones in <Link to="/studies">Studies</Link> and{' '}
          <Link to="/nodes">Subjects</Link>. Your draft is saved.
        </>
      }
    >
      <StudyPicker
        {...study}
        label="Study"
        description="The question that this pack helps to answer."
        value={draft.study}
        onChange={(value) => change({ study: value })}
      />
      <SubjectPicker
        {...node}
        label="Subject"
        description="What the pack is filed under."
        value={draft.node}
        onChange={(value) => change({ node: value })}
      />
    </FormSection>
  );
}

/** The verdict of a replication, before everything that supports it. Nothing is shown for other packs. */
export function VerdictSection() {
  const { draft, change } = usePackForm();
  const verdict = useField('replicates', 'verdict');
  const note = useField('replicates', 'note');
  const { replicates } = draft;
  if (!replicates) return null;
  const set = (changes: Partial<typeof replicates>) => change({ replicates: { ...replicates, ...changes } });
  return (
    <FormSection title="Verdict" hint="Whether this replication found what the original pack found.">
      <ChoiceCards
        id={verdict.id}
        error={verdict.error}
        label="Verdict"
        choices={VERDICTS.map((value) => ({ value, ...STATES.verdict[value] }))}
        value={replicates.verdict}
        onChange={(value) => set({ verdict: value })}
      />
      <Textarea
        {...note}
        label="Note (optional)"
        description="What was done differently, and where the results differ."
        autosize
        minRows={2}
        maxRows={12}
        value={replicates.note}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
    </FormSection>
  );
}

/** Shown above the form: the pack that the draft replicates or supersedes. */
export function BasedOn() {
  const { replicates, supersedes } = useDraft((state) => state.draft);
  return (
    <>
      {replicates?.pack && <Line label="Replication of" id={replicates.pack} field="field/replicates/pack" />}
      {supersedes && <Line label="New version of" id={supersedes} field="field/supersedes" />}
    </>
  );
}

interface LineProps {
  label: string;
  id: string;
  /** The form field to jump to. */
  field: string;
}

function Line({ label, id, field }: LineProps) {
  const pack = useCall('readPack', { params: { id } });
  return (
    <p className={`${classes.line} card mb-4 wrap-anywhere`}>
      {label} {/* The pack opens in a new tab, so that a click does not leave the draft. */}
      <PackLink id={id} />
      {pack.data && <span className="muted"> by {authorsLine(pack.data.authors)}</span>}{' '}
      <button type="button" onClick={() => jumpToField(field)}>
        Change
      </button>
    </p>
  );
}
