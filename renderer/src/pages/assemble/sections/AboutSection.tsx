import { SegmentedControl, TagsInput, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Markdown } from '../../../components/content/Markdown.tsx';
import { useField, usePackForm } from '../formContext.ts';
import classes from './AboutSection.module.css';
import { FormSection } from './FormSection.tsx';

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
