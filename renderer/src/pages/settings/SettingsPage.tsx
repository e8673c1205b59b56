import { Button, SegmentedControl, Switch, Tabs } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import {
  type DesktopPreferencesChange,
  type OwnerSession,
  SESSION_DAYS,
} from '../../../../shared/node/owner.ts';
import { SETTING_PAGES, type SettingPage } from '../../../../shared/node/pages.ts';
import type { Settings } from '../../../../shared/node/settings.ts';
import { call } from '../../api/client.ts';
import { useCall, useReload } from '../../api/useCall.ts';
import { type Column, DataTable, timeColumn } from '../../components/data/DataTable.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { ThemeSwitch } from '../../components/layout/ThemeSwitch.tsx';
import { desktop } from '../../desktop.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import { useIsOwner, useSession } from '../../state/session.ts';
import { BrowserExtension } from './BrowserExtension.tsx';
import { Copies } from './Copies.tsx';
import { DataFolder } from './DataFolder.tsx';
import { Profiles } from './Profiles.tsx';
import { Repositories } from './Repositories.tsx';
import { RoundPauses } from './RoundPauses.tsx';
import { SettingsForm, SettingsGroup } from './SettingsForm.tsx';
import classes from './SettingsPage.module.css';
import { StoredBytes } from './StoredBytes.tsx';
import { SETTING_GROUPS, type SettingGroup } from './settingFields.ts';

interface SettingPart {
  page: SettingPage;
  id: string;
  words: string;
  Part: () => ReactNode;
  /** Whether it is above the form. */
  isFirst?: boolean;
}

/** What is set elsewhere than in the form: on which page it is, and the words by which it is found. */
const PARTS: readonly SettingPart[] = [
  {
    page: 'storage',
    id: 'data-folder',
    words: 'data folder place path disk move archive open another new recent command',
    Part: DataFolder,
    isFirst: true,
  },
  {
    page: 'storage',
    id: 'stored-bytes',
    words: 'integrity check audit digest damage repair lost and found',
    Part: StoredBytes,
  },
  {
    page: 'copies',
    id: 'copies',
    words: 'copies second copy folder disk bucket object store s3 sync restore test key passphrase offload',
    Part: Copies,
    isFirst: true,
  },
  {
    page: 'collection',
    id: 'round-pauses',
    words: 'battery power metered network pause rounds laptop',
    Part: RoundPauses,
  },
  {
    page: 'copies',
    id: 'repositories',
    words: 'repositories deposit doi zenodo inveniordm dataverse token community collection',
    Part: Repositories,
  },
  { page: 'collection', id: 'profiles', words: 'profiles login cookies storage state', Part: Profiles },
  {
    page: 'browsers',
    id: 'browser',
    words:
      'this browser window theme light dark times local time utc sign out session login start keep collecting',
    Part: BrowserSettings,
  },
  {
    page: 'browsers',
    id: 'extension',
    words: 'browser extension pair bookmarklet',
    Part: BrowserExtension,
  },
  { page: 'browsers', id: 'sessions', words: 'signed-in browsers sessions sign out', Part: Sessions },
];

/** The node's settings and the display settings of this browser. */
export default function SettingsPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const settings = useCall('readSettings', {}, { enabled: isOwner });
  if (isOwner && settings.data) return <OwnerSettings settings={settings.data} />;
  return (
    <Page title="Settings">
      <BrowserSettings />
      {isKnown && !isOwner && (
        <EmptyState title="Only the owner can see the settings">
          You are a visitor. The owner signs in with the one-time link that the node printed when it started.
        </EmptyState>
      )}
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
    </Page>
  );
}

/** One page of the settings, or everything that matches the search. */
function OwnerSettings({ settings }: { settings: Settings }) {
  const [words, setWords] = useState('');
  const [focused, setFocused] = useState<string>();
  const { hash } = useLocation();
  const navigate = useNavigate();
  const page = pageOf(hash);
  useEffect(() => {
    // Runs after the scroll to the top that every navigation does.
    const frame = requestAnimationFrame(() => document.getElementById(hash.slice(1))?.scrollIntoView());
    return () => cancelAnimationFrame(frame);
  }, [hash]);
  const groups = words
    ? SETTING_GROUPS.map((group) => foundIn(group, words)).filter(({ fields }) => fields.length > 0)
    : SETTING_GROUPS.filter((group) => group.page === page);
  const parts = PARTS.filter((part) => (words ? isMatch(part.words, words) : part.page === page));
  const open = (next: string | null, field?: string) => {
    setWords('');
    setFocused(field);
    void navigate(`#${next}`);
  };
  return (
    <Page title="Settings" actions={<SearchField label="Find a setting" value={words} onChange={setWords} />}>
      <Tabs value={words ? 'found' : page} onChange={(next) => open(next)} keepMounted={false} mb="lg">
        <Tabs.List aria-label="Pages of the settings">
          {SETTING_PAGES.map(({ id, title }) => (
            <Tabs.Tab key={id} value={id}>
              {title}
            </Tabs.Tab>
          ))}
          {words && <Tabs.Tab value="found">Found</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value={words ? 'found' : page}>
          {parts.map(({ id, Part, isFirst }) => isFirst && <Part key={id} />)}
          <SettingsForm settings={settings} groups={groups} focused={focused} onOpen={open} />
          {parts.map(({ id, Part, isFirst }) => !isFirst && <Part key={id} />)}
          {groups.length === 0 && parts.length === 0 && (
            <EmptyState title="No setting matches">
              Try another word. Permissions are on the page Sharing, mail on Alerts, and peers on Sources.
            </EmptyState>
          )}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

/** The page that a URL fragment names: its id, or that of a part of it. */
function pageOf(hash: string): SettingPage {
  const id = hash.slice(1);
  const part = PARTS.find((each) => each.id === id);
  return part?.page ?? SETTING_PAGES.find((each) => each.id === id)?.id ?? 'storage';
}

/** The fields of a group that match; all of them if its title does. */
function foundIn(group: SettingGroup, words: string): SettingGroup {
  if (isMatch(group.title, words)) return group;
  return {
    ...group,
    fields: group.fields.filter(({ label, meaning }) => isMatch(`${group.title} ${label} ${meaning}`, words)),
  };
}

/** Whether a text has every word that was typed. */
function isMatch(text: string, words: string): boolean {
  const lower = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Display settings of this browser, and its session. */
export function BrowserSettings() {
  const { zone, setZone } = useDisplaySettings();
  const isOwner = useIsOwner();
  return (
    <SettingsGroup
      title={desktop() ? 'This window' : 'This browser'}
      meaning="Display settings. They are stored only here."
    >
      <div className={`${classes.row} grid gap-5 start`}>
        <span>Theme</span>
        <div className={classes.control}>
          <ThemeSwitch />
        </div>
      </div>
      <div className={`${classes.row} grid gap-5 start`}>
        <span>Times</span>
        <SegmentedControl
          size="xs"
          className={classes.control}
          aria-label="Times"
          value={zone}
          onChange={(value) => setZone(value as Zone)}
          data={[
            { value: 'local', label: 'Local time' },
            { value: 'utc', label: 'UTC' },
          ]}
        />
      </div>
      {isOwner && !desktop() && <SignOut />}
      <DesktopChoices />
    </SettingsGroup>
  );
}

const CHOICES = [
  {
    name: 'keep_running',
    label: 'Keep collecting when the window is closed',
    description: 'The icon in the tray opens it again.',
  },
  {
    name: 'open_at_login',
    label: 'Open at login',
    description: 'Strongroom starts without its window when you log in, and collects.',
  },
] as const;

/** What the desktop app does on this machine. */
function DesktopChoices() {
  const app = desktop();
  const preferences = useQuery({
    queryKey: ['desktop'],
    queryFn: () => app?.readPreferences(),
    enabled: app !== undefined,
  });
  const change = useMutation({
    mutationFn: async (next: DesktopPreferencesChange) => app?.changePreferences(next),
    onSettled: () => preferences.refetch(),
  });
  if (!preferences.data) return null;
  const shown = { ...preferences.data, ...(change.isPending ? change.variables : {}) };
  return (
    <>
      {CHOICES.map(({ name, label, description }) => (
        <Switch
          key={name}
          label={label}
          description={description}
          checked={shown[name]}
          onChange={(event) => change.mutate({ [name]: event.currentTarget.checked })}
        />
      ))}
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}

function SignOut() {
  const load = useSession((state) => state.load);
  const signOut = useMutation({ mutationFn: () => call('signOut'), onSuccess: load });
  return (
    <>
      <div className={`${classes.row} grid gap-5 start`}>
        <span>
          Session
          <span className="block regular muted small">
            To sign in again, you need a new one-time link. The node prints one when it starts; “strongroom
            sign-in” prints another.
          </span>
        </span>
        <Button
          variant="default"
          style={{ justifySelf: 'start' }}
          onClick={() => signOut.mutate()}
          loading={signOut.isPending}
        >
          Sign out
        </Button>
      </div>
      {signOut.error && <ErrorNote error={signOut.error} />}
    </>
  );
}

/** Idle sessions expire, so the list stays short. */
const SHOWN = 100;

/** The browsers that are signed in as the owner, each with a Sign out button. */
export function Sessions() {
  const answer = useCall('listSessions', { query: { limit: SHOWN } });
  return (
    <SettingsGroup
      title="Signed-in browsers"
      meaning={<>Each has full access. A browser is signed out after {SESSION_DAYS} days without use.</>}
    >
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data && answer.data.items.length > 0 && <SessionList sessions={answer.data.items} />}
      {answer.data?.items.length === 0 && <p className="muted">No browser is signed in.</p>}
    </SettingsGroup>
  );
}

function SessionList({ sessions }: { sessions: readonly OwnerSession[] }) {
  const reload = useReload();
  const load = useSession((state) => state.load);
  const end = useMutation({
    mutationFn: ({ id }: OwnerSession) => call('endSession', { params: { id } }),
    onSettled: (_answer, _error, { current }) => (current ? load() : reload('endSession')),
  });
  const columns: Column<OwnerSession>[] = [
    {
      id: 'browser',
      header: 'Browser',
      cell: (session) => (
        <>
          {nameOf(session)}
          {session.current && <span className="muted"> (this one)</span>}
        </>
      ),
    },
    timeColumn('Signed in', ({ created_at }) => created_at),
    timeColumn('Last used', ({ last_used_at }) => last_used_at, { hideBelow: 'narrow' }),
    {
      id: 'end',
      header: 'Sign out',
      isHeaderHidden: true,
      width: '7rem',
      align: 'end',
      cell: (session) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Sign out ${nameOf(session)}`}
          loading={end.isPending && end.variables.id === session.id}
          onClick={() => end.mutate(session)}
        >
          Sign out
        </Button>
      ),
    },
  ];
  return (
    <>
      {end.error && <ErrorNote error={end.error} />}
      <DataTable caption="Signed-in browsers" columns={columns} rows={sessions} rowKey={({ id }) => id} />
    </>
  );
}

function nameOf({ label }: OwnerSession): string {
  return label || 'an unnamed browser';
}
