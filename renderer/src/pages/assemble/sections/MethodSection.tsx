import { Textarea, TextInput } from '@mantine/core';
import type { Draft } from '../draft.ts';
import { useField, usePackForm } from '../formContext.ts';
import { ChoiceCards } from './ChoiceCards.tsx';
import { FormSection } from './FormSection.tsx';

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
