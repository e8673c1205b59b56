import { Switch } from '@mantine/core';
import { IconEye, IconLock, IconPencilPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { SharingMode as Mode, Sharing } from '../../../../shared/node/settings.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useSession } from '../../state/session.ts';
import { type Choice, ChoiceCards } from '../assemble/sections/ChoiceCards.tsx';
import classes from './SharingPage.module.css';

const MODES: readonly Choice<Mode>[] = [
  { value: 'off', label: 'Off', icon: IconLock, meaning: 'Only this machine can reach the node.' },
  {
    value: 'read',
    label: 'Read',
    icon: IconEye,
    meaning: 'Anyone on your network can read and verify everything, but change nothing.',
  },
  {
    value: 'contribute',
    label: 'Contribute',
    icon: IconPencilPlus,
    meaning:
      'Visitors can also add packs, studies, subjects, comments and flags, within the limits in the settings.',
  },
];

/** The sharing mode. A change applies at once. */
export function SharingMode({ sharing }: { sharing: Sharing }) {
  const queries = useQueryClient();
  const loadSession = useSession((state) => state.load);
  const set = useMutation({
    // Changes are sent one after another, so that the last one wins.
    scope: { id: 'sharing' },
    mutationFn: (next: Sharing) => call('setSharing', { body: next }),
    onSuccess: async (next) => {
      queries.setQueryData(callKey('readSharing', {}), next);
      await Promise.all([queries.invalidateQueries({ queryKey: callKey('readAddresses') }), loadSession()]);
    },
  });
  // Shown optimistically and reverted if the node refuses the change.
  const shown = set.isPending ? set.variables : sharing;
  return (
    <Section title="Access to this node">
      <ChoiceCards
        label="Access to this node"
        choices={MODES}
        value={shown.mode}
        onChange={(mode) => set.mutate({ ...shown, mode })}
      />
      <Switch
        className={classes.wants}
        label="Require an invitation to contribute"
        description={
          shown.mode === 'contribute'
            ? 'Each contributor needs an invitation token, which you can revoke.'
            : 'Applies while contributions are open.'
        }
        checked={shown.require_invitation}
        onChange={(event) => set.mutate({ ...shown, require_invitation: event.currentTarget.checked })}
      />
      {set.error && <ErrorNote error={set.error} />}
    </Section>
  );
}
