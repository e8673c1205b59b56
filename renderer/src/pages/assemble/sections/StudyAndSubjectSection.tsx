import { Link } from 'react-router';
import { StudyPicker } from '../../../components/forms/pickers/StudyPicker.tsx';
import { SubjectPicker } from '../../../components/forms/pickers/SubjectPicker.tsx';
import { useField, usePackForm } from '../formContext.ts';
import { FormSection } from './FormSection.tsx';

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
          Both are optional. You can create new ones under <Link to="/studies">Studies</Link> and{' '}
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
