import { SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Markdown } from '../../../components/content/Markdown.tsx';
import { useField, usePackForm } from '../formContext.ts';
import classes from './AboutSection.module.css';
import { FormSection } from './FormSection.tsx';

/** Title, summary and keywords. */
export function AboutSection() {
  const { draft, change } = usePackForm();
  const title = useField('title');
  const keywords = useField('keywords');
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
      <div className={classes.summaryHead}>
        <label htmlFor={summary.id} className={classes.label}>
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
        <div className={classes.preview}>
          {draft.summary ? <Markdown text={draft.summary} /> : <p className="muted">Nothing to preview.</p>}
        </div>
      )}
      <p id={`${summary.id}-hint`} className="muted small">
        Describe the question, the work and the findings. Markdown is supported.
      </p>
    </div>
  );
}
