import { Link } from 'react-router';
import { NodePicker } from '../../../components/forms/pickers/NodePicker.tsx';
import { StudyPicker } from '../../../components/forms/pickers/StudyPicker.tsx';
import { useAssembly, useField } from '../assembly.ts';
import { FormSection } from './FormSection.tsx';

/** Where it belongs: a study, a node of the tree. */
export function PlaceSection() {
  const { draft, change } = useAssembly();
  const study = useField('study');
  const node = useField('node');
  return (
    <FormSection
      title="Where it belongs"
      hint={
        <>
          Both may be left out. What is not there yet can be made under <Link to="/studies">Studies</Link> and{' '}
          <Link to="/nodes">Nodes</Link>; this draft stays.
        </>
      }
    >
      <StudyPicker
        {...study}
        label="Study"
        description="The question that this pack, with others, is to answer."
        value={draft.study}
        onChange={(value) => change({ study: value })}
      />
      <NodePicker
        {...node}
        label="Node"
        description="The subject, in the archive’s tree."
        value={draft.node}
        onChange={(value) => change({ node: value })}
      />
    </FormSection>
  );
}
