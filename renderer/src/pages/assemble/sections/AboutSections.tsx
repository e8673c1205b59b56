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
import { jumpToField, useInputs, usePackForm, useReplicationInputs } from '../packForm.ts';
import { FormSection } from './ResultsSection.tsx';

/** The title. A dropped folder fills it in. */
export function TitleSection() {
  const { draft, change } = usePackForm();
  const input = useInputs(draft, change);
  return (
    <FormSection title="About">
      <TextInput {...input.text('title')} label="Title" required withAsterisk={false} />
    </FormSection>
  );
}

/** Summary and keywords. */
export function AboutSection() {
  const { draft, change } = usePackForm();
  const input = useInputs(draft, change);
  return (
    <FormSection title="Summary and keywords" hint="Both are optional.">
      <Summary />
      <TagsInput
        {...input.value('keywords')}
        label="Keywords"
        description="Press Enter after each keyword."
        splitChars={[',', ';']}
        maxTags={50}
      />
    </FormSection>
  );
}

function Summary() {
  const { draft, change } = usePackForm();
  const [view, setView] = useState('write');
  const summary = useInputs(draft, change).text('summary');
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
        <Textarea {...summary} aria-describedby={`${summary.id}-hint`} minRows={4} maxRows={20} />
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
  const input = useInputs(draft, change);
  return (
    <FormSection
      title="Licence"
      hint="What others may do with the files. It cannot be changed after publishing."
    >
      <ChoiceCards
        {...input.value('license')}
        label="Licence"
        choices={LICENSES.map((value) => ({ value, label: value, meaning: LICENSE_MEANINGS[value] }))}
      />
    </FormSection>
  );
}

/** The outcome. */
export function OutcomeSection() {
  const { draft, change } = usePackForm();
  const input = useInputs(draft, change);
  return (
    <FormSection title="Outcome" hint="How the result compares with the expectation.">
      <ChoiceCards
        {...input.value('outcome')}
        label="Outcome"
        choices={OUTCOMES.map((value) => ({ value, ...STATES.outcome[value] }))}
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
  const { method } = draft;
  const set = (changes: Partial<Draft['method']>) => change({ method: { ...method, ...changes } });
  const input = useInputs(method, set, 'method');
  const text = input.text('text');
  return (
    <>
      <Textarea
        {...text}
        error={text.error ?? errorOf('field/method')}
        onBlur={() => touch('field/method')}
        label="Text"
        minRows={4}
        maxRows={24}
      />
      <TextInput {...input.text('link')} label="Link" type="url" placeholder="https://" />
      <ChoiceCards
        {...input.value('complete')}
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
  const input = useInputs(draft, change);
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
        {...input.value('study')}
        label="Study"
        description="The question that this pack helps to answer."
      />
      <SubjectPicker {...input.value('node')} label="Subject" description="What the pack is filed under." />
    </FormSection>
  );
}

/** The verdict of a replication, before everything that supports it. Nothing is shown for other packs. */
export function VerdictSection() {
  const { replicates } = usePackForm().draft;
  return replicates && <VerdictFields replicates={replicates} />;
}

function VerdictFields({ replicates }: { replicates: NonNullable<Draft['replicates']> }) {
  const input = useReplicationInputs(replicates);
  return (
    <FormSection title="Verdict" hint="Whether this replication found what the original pack found.">
      <ChoiceCards
        {...input.value('verdict')}
        label="Verdict"
        choices={VERDICTS.map((value) => ({ value, ...STATES.verdict[value] }))}
      />
      <Textarea
        {...input.text('note')}
        label="Note (optional)"
        description="What was done differently, and where the results differ."
        maxRows={12}
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
