import { Button, Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'react-router';
import { EXPIRY_WORDS, type Profile } from '../../../../shared/collection/profile.ts';
import type { WatchedSource } from '../../../../shared/collection/source.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ProfileDialog } from '../../components/forms/ProfileDialog.tsx';
import { type DraftProps, MISSING_PROFILE, type SourceDraft } from './sourceForm.ts';
import type { VisibleSource } from './useSources.ts';

/** Whether a failed check is due to the login. */
export function isAboutLogin(error: string): boolean {
  return error === 'profile_expired' || error === 'profile_missing';
}

/** All profiles of a node fit into one page. */
const SHOWN = 200;

function useProfiles(enabled = true): readonly Profile[] {
  return useCall('listProfiles', { query: { limit: SHOWN } }, { enabled }).data?.items ?? [];
}

function useProfile({ profile }: Pick<VisibleSource, 'profile'>): Profile | undefined {
  // One that was just removed is not asked for by its id.
  return useProfiles(Boolean(profile)).find(({ id }) => id === profile);
}

const NEW = 'new';

/** With which profile a source is watched: those of its site are offered, and a new one can be made. */
export function LoginField({ draft, errors, onChange }: DraftProps<SourceDraft>) {
  const profiles = useProfiles();
  const [isMaking, making] = useDisclosure();
  const { profile } = draft;
  const address = /^https?:/i.test(draft.url.trim()) ? draft.url.trim() : `https://${draft.url.trim()}`;
  const offered = profiles.filter((each) => each.id === profile || isForAddress(each, address));
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

/** Whether a profile is for an address. The node decides; this is for the choice. */
function isForAddress({ site }: Pick<Profile, 'site'>, address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  return url.hostname === site || url.host === site || url.hostname.endsWith(`.${site}`);
}

/** Returns the site that is suggested for an address: its host without `www.`, and with its port on this machine. */
function suggestedSite(address: string): string {
  const url = URL.parse(address);
  if (!url) return '';
  return /^[\d.]+$|^localhost$|^\[/.test(url.hostname) ? url.host : url.hostname.replace(/^www\./, '');
}

const WORDS: Record<NonNullable<WatchedSource['login']>, string> = {
  untried: 'not tried yet',
  works: 'works',
  expired: 'expired',
  unreadable: 'cannot be read',
  missing: 'its profile is gone',
};

/** The profile of a source, and whether it works. */
export function LoginFact({ source }: { source: VisibleSource }) {
  const profile = useProfile(source);
  if (!source.login) return null;
  return (
    <>
      {profile && <Link to="/settings#profiles">{profile.name}</Link>}
      {profile && ', '}
      {WORDS[source.login]}
    </>
  );
}

/** Says that the login of a source no longer works, or is gone, and offers to log in again. */
export function LoginNotice({ source }: { source: VisibleSource }) {
  const profile = useProfile(source);
  const [isOpen, dialog] = useDisclosure();
  const { login, login_expired_at } = source;
  if (login !== 'expired' && login !== 'unreadable' && login !== 'missing') return null;
  return (
    <div className="card card-warn mb-4 stack gap-2 items-start">
      <div className="stack gap-1">
        <p>
          <strong>{TITLES[login]}</strong>
          {login === 'expired' && login_expired_at && (
            <>
              , noticed <TimeText at={login_expired_at} />
            </>
          )}
          .
        </p>
        <p className="small">{sentenceOf(login, profile)}</p>
      </div>
      {profile && (
        <Button size="xs" variant="default" onClick={dialog.open}>
          Log in again
        </Button>
      )}
      {profile && <ProfileDialog opened={isOpen} onClose={dialog.close} profile={profile} />}
    </div>
  );
}

const TITLES = {
  expired: 'The site no longer accepts the login',
  unreadable: 'The profile cannot be read',
  missing: 'The login of this source is gone',
};

function sentenceOf(login: keyof typeof TITLES, profile: Profile | undefined): string {
  if (login === 'missing')
    return 'Its profile was removed, or was not in the copy from which this archive was restored. The source is not fetched until you choose a profile, or “No login”, under Edit.';
  if (login === 'unreadable')
    return 'Its key is missing or damaged, so the source is not fetched. Put the file profiles.key back from your backup, or remove the profile and log in again.';
  const why = profile?.expired_reason ? `${capital(EXPIRY_WORDS[profile.expired_reason])}. ` : '';
  return `${why}What the site shows without the login is not recorded as a change. The node tries again at the next check.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
