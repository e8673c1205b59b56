import { Switch } from '@mantine/core';
import { IconEye, IconLock, IconPencilPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { SharingMode as Mode, Sharing } from '../../../../shared/settings.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useSession } from '../../state/session.ts';
import { type Choice, ChoiceCards } from '../assemble/sections/ChoiceCards.tsx';
import classes from './SharingPage.module.css';

const MODES: readonly Choice<Mode>[] = [
  { value: 'off', label: 'Off', icon: IconLock, meaning: 'Only this machine reaches the node.' },
  {
    value: 'read',
    label: 'Read',
    icon: IconEye,
    meaning: 'Whoever is on your network may read and verify everything, and change nothing.',
  },
  {
    value: 'contribute',
    label: 'Contribute',
    icon: IconPencilPlus,
    meaning:
      'They may also add packs, studies, nodes, comments and flags, within the limits of the settings.',
  },
];

/** Whether and how the node is shared; a choice is in force as soon as it is made. */
export function SharingMode({ sharing }: { sharing: Sharing }) {
  const queries = useQueryClient();
  const loadSession = useSession((state) => state.load);
  const set = useMutation({
    // One after the other: the choice that was made last is the one that holds.
    scope: { id: 'sharing' },
    mutationFn: (next: Sharing) => call('setSharing', { body: next }),
    onSuccess: async (next) => {
      queries.setQueryData(callKey('readSharing', {}), next);
      await Promise.all([queries.invalidateQueries({ queryKey: callKey('readAddresses') }), loadSession()]);
    },
  });
  // What was chosen is shown at once, and taken back where the node refuses it.
  const shown = set.isPending ? set.variables : sharing;
  return (
    <Section title="Who may reach this node">
      <ChoiceCards
        label="Who may reach this node"
        choices={MODES}
        value={shown.mode}
        onChange={(mode) => set.mutate({ ...shown, mode })}
      />
      <Switch
        className={classes.wants}
        label="Contributions need an invitation"
        description={
          shown.mode === 'contribute'
            ? 'Each contributor shows the token of an invitation, which you can revoke.'
            : 'Counts while contributions are open.'
        }
        checked={shown.require_invitation}
        onChange={(event) => set.mutate({ ...shown, require_invitation: event.currentTarget.checked })}
      />
      {set.error && <ErrorNote error={set.error} />}
    </Section>
  );
}
