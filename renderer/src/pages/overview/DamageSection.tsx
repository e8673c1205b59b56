import { Link } from 'react-router';
import { DamagedObjects } from '../../components/content/fixity/DamagedObjects.tsx';
import { useFixity } from '../../components/content/fixity/useFixity.ts';
import { Section } from '../../components/layout/Section.tsx';
import { useIsOwner } from '../../state/session.ts';

const SHOWN = 5;

/** The objects that are damaged now. Renders nothing if there are none. */
export function DamageSection() {
  const isOwner = useIsOwner();
  const { fixity } = useFixity();
  if (!fixity || fixity.damaged_objects === 0) return null;
  return (
    <Section title="Damaged" actions={isOwner && <Link to="/settings#stored-bytes">How to repair</Link>}>
      <DamagedObjects fixity={fixity} limit={SHOWN} />
    </Section>
  );
}
