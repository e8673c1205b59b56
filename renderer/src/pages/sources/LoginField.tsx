import { Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useCall } from '../../api/useCall.ts';
import { ProfileDialog } from '../../components/forms/ProfileDialog.tsx';
import { isForAddress, suggestedSite } from '../../format/profiles.ts';
import { type DraftErrors, MISSING_PROFILE, type SourceDraft } from './sourceForm.ts';

interface LoginFieldProps {
  draft: SourceDraft;
  errors: DraftErrors;
  onChange: (change: Partial<SourceDraft>) => void;
}

/** All profiles of a node fit into one page. */
const SHOWN = 200;
const NEW = 'new';

/** With which profile a source is watched: those of its site are offered, and a new one can be made. */
export function LoginField({ draft, errors, onChange }: LoginFieldProps) {
  const { data } = useCall('listProfiles', { query: { limit: SHOWN } });
  const [isMaking, making] = useDisclosure();
  const { profile } = draft;
  const address = /^https?:/i.test(draft.url.trim()) ? draft.url.trim() : `https://${draft.url.trim()}`;
  const offered = (data?.items ?? []).filter((each) => each.id === profile || isForAddress(each, address));
  const choices = [
    { value: '', label: 'No login' },
    ...(profile === MISSING_PROFILE
      ? [{ value: MISSING_PROFILE, label: 'Its profile is gone: it is not fetched' }]
      : []),
    ...offered.map(({ id, name, site, state }) => ({
      value: id,
      label: `${name === site ? site : `${name} (${site})`}${state === 'expired' ? ', expired' : ''}`,
    })),
    { value: NEW, label: 'New profile…' },
  ];
  return (
    <>
      <Select
        label="Log in with"
        description={
          profile === ''
            ? 'For a page that you see only when you are logged in.'
            : 'Visitors do not get what it brings, unless you show it.'
        }
        data={choices}
        allowDeselect={false}
        value={profile}
        error={errors.profile}
        onChange={(value) => (value === NEW ? making.open() : onChange({ profile: value ?? '' }))}
      />
      {/* Its form is not part of this one, though its events would reach it. */}
      <div onSubmit={(event) => event.stopPropagation()}>
        <ProfileDialog
          opened={isMaking}
          onClose={making.close}
          site={suggestedSite(address)}
          onSaved={({ id }) => onChange({ profile: id })}
        />
      </div>
    </>
  );
}
