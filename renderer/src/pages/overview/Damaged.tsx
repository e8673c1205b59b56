import { Link } from 'react-router';
import { DamagedObjects } from '../../components/fixity/DamagedObjects.tsx';
import { useFixity } from '../../components/fixity/useFixity.ts';
import { Section } from '../../components/Section.tsx';
import { useIsOwner } from '../../state/session.ts';

const SHOWN = 5;

/** The objects that are damaged now; nothing where there is none. */
export function Damaged() {
  const isOwner = useIsOwner();
  const { fixity } = useFixity();
  if (!fixity || fixity.damaged_objects === 0) return null;
  return (
    <Section title="Damaged" actions={isOwner && <Link to="/settings#stored-bytes">What to do</Link>}>
      <DamagedObjects fixity={fixity} limit={SHOWN} />
    </Section>
  );
}
