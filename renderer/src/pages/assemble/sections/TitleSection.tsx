import { TextInput } from '@mantine/core';
import { useField, usePackForm } from '../formContext.ts';
import { FormSection } from './FormSection.tsx';

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
