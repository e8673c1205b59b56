import { Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { EXPIRY_WORDS, type Profile } from '../../../../shared/collection/profile.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { HealthLine, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, ItemButton, RemoveItemButton } from '../../components/forms/buttons.tsx';
import { Question } from '../../components/forms/DialogForm.tsx';
import { ProfileDialog } from '../../components/forms/ProfileDialog.tsx';
import { countOf } from '../../format.ts';
import { SettingsGroup } from './SettingsForm.tsx';

/** All profiles of a node fit into one page. */
const SHOWN = 200;

/** The logins with which sources are watched. */
export function Profiles() {
  const answer = useCall('listProfiles', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  const add = (
    <IconButton icon={IconPlus} onClick={adding.open}>
      New profile
    </IconButton>
  );
  return (
    <SettingsGroup
      id="profiles"
      title="Profiles"
      meaning="A profile is your login at one site: its cookies and storage. Sources that need it are fetched with it. It is kept encrypted, sent to its site only, and never exported."
    >
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data?.items.length === 0 && (
        <EmptyState title="Watch pages that need a login" action={add}>
          Log in with your browser, export the cookies of the site, and keep them here as a profile.
        </EmptyState>
      )}
      {answer.data && answer.data.items.length > 0 && (
        <>
          <ul className="plain stack gap-4">
            {answer.data.items.map((profile) => (
              <ProfileItem key={profile.id} profile={profile} />
            ))}
          </ul>
          <div>{add}</div>
        </>
      )}
      <ProfileDialog opened={isAdding} onClose={adding.close} />
    </SettingsGroup>
  );
}

function ProfileItem({ profile }: { profile: Profile }) {
  const { name, site, cookies, storage_items, expires_at, last_used_at, sources } = profile;
  const [isReplacing, replacing] = useDisclosure();
  const [isRemoving, removing] = useDisclosure();
  return (
    <li className="card stack gap-2">
      <div>
        <h3 className="wrap-anywhere">{name}</h3>
        {name !== site && <p className="muted small">{site}</p>}
      </div>
      <State profile={profile} />
      <p className="muted small">
        {countOf(cookies, 'cookie')}
        {storage_items > 0 && `, ${countOf(storage_items, 'item')} of storage`}
        {expires_at && (
          <>
            {' '}
            · the first ends <TimeText at={expires_at} />
          </>
        )}{' '}
        · last used: {last_used_at ? <TimeText at={last_used_at} /> : 'never'} · {countOf(sources, 'source')}
      </p>
      <Group gap="xs">
        <ItemButton label="Log in again" of={name} onClick={replacing.open} />
        <RemoveItemButton of={name} onClick={removing.open} />
      </Group>
      <ProfileDialog opened={isReplacing} onClose={replacing.close} profile={profile} />
      {isRemoving && <RemoveProfile profile={profile} onClose={removing.close} />}
    </li>
  );
}

const HEALTH = { works: 'well', untried: 'idle', expired: 'bad', unreadable: 'bad' } as const;
const STATE_WORDS = {
  works: 'Works',
  untried: 'Not tried yet',
  expired: 'Expired',
  unreadable: 'Cannot be read: its key is missing or damaged',
};

function State({ profile: { state, expired_at, expired_reason } }: { profile: Profile }) {
  return (
    <HealthLine health={HEALTH[state]}>
      {STATE_WORDS[state]}
      {expired_at && (
        <>
          {' '}
          <TimeText at={expired_at} />
        </>
      )}
      {expired_reason && `: ${EXPIRY_WORDS[expired_reason]}`}
    </HealthLine>
  );
}

function RemoveProfile({ profile, onClose }: { profile: Profile; onClose: () => void }) {
  const { id, name, sources } = profile;
  const removal = useSave('removeProfile', () => ({ params: { id } }), { onSaved: onClose });
  return (
    <Question title="Remove this profile?" answer="Remove" save={removal} onClose={onClose}>
      The cookies and the storage of <strong>{name}</strong> are deleted. You stay logged in in your browser.{' '}
      {sources > 0 &&
        `${countOf(sources, 'source')} will not be fetched until you choose another profile for ${sources === 1 ? 'it' : 'them'}, or none.`}
    </Question>
  );
}
