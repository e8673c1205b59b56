import { Checkbox, Textarea, TextInput } from '@mantine/core';
import { useAssembly, useField } from '../assembly.ts';
import type { Draft } from '../draft.ts';
import { ChoiceCards } from './ChoiceCards.tsx';
import { FormSection } from './FormSection.tsx';

/** How it was done, and whether that is all that is needed to do it again. */
export function MethodSection() {
  const { draft, change } = useAssembly();
  return (
    <FormSection
      title="Method"
      hint="How it was done. With a complete method the pack is tagged replicable; without one it is report-only."
    >
      <ChoiceCards
        label="Method"
        choices={[
          { value: 'given', word: 'There is a method', meaning: 'As a text, as a link, or both.' },
          { value: 'none', word: 'There is none', meaning: 'The result is reported, and that is all.' },
        ]}
        value={draft.hasMethod ? 'given' : 'none'}
        onChange={(value) => change({ hasMethod: value === 'given' })}
      />
      {draft.hasMethod && <MethodFields />}
    </FormSection>
  );
}

function MethodFields() {
  const { draft, change, errorOf, touch } = useAssembly();
  const text = useField('method', 'text');
  const link = useField('method', 'link');
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
      <Checkbox
        label="The method is complete"
        description="I claim that nothing more than this is needed to do it again. Anybody may try, and publish what came of it."
        checked={method.complete}
        onChange={(event) => set({ complete: event.currentTarget.checked })}
      />
    </>
  );
}
