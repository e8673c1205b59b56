import { Button, SegmentedControl } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type OwnerSession, SESSION_DAYS } from '../../../../shared/node/owner.ts';
import { call } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { useReload } from '../../api/useSave.ts';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { ThemeSwitch } from '../../components/layout/ThemeSwitch.tsx';
import { desktop } from '../../desktop.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import { useIsOwner, useSession } from '../../state/session.ts';
import { BrowserExtension } from './BrowserExtension.tsx';
import { Copies } from './Copies.tsx';
import { Profiles } from './Profiles.tsx';
import { SettingsForm } from './SettingsForm.tsx';
import classes from './SettingsPage.module.css';
import { StoredBytes } from './StoredBytes.tsx';

/** The node's settings and the display settings of this browser. */
export default function SettingsPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const settings = useCall('readSettings', {}, { enabled: isOwner });
  return (
    <Page title="Settings">
      <BrowserSettings />
      {isKnown && !isOwner && (
        <EmptyState title="Only the owner can see the settings">
          You are a visitor. The owner signs in with the one-time link that the node printed when it started.
        </EmptyState>
      )}
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data && <SettingsForm settings={settings.data} />}
      {settings.data && <StoredBytes />}
      {settings.data && <Profiles />}
      {settings.data && <Copies />}
      {settings.data && <BrowserExtension />}
      {settings.data && <Sessions />}
    </Page>
  );
}

/** Display settings of this browser, and its session. */
export function BrowserSettings() {
  const { zone, setZone } = useDisplaySettings();
  const isOwner = useIsOwner();
  return (
    <section className={classes.group} aria-labelledby="this-browser">
      <div>
        <h2 id="this-browser">{desktop() ? 'This window' : 'This browser'}</h2>
        <p className="muted small">Display settings. They are stored only here.</p>
      </div>
      <div className={`${classes.fields} stack gap-4`}>
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
      </div>
    </section>
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
    <section className={classes.group} aria-labelledby="signed-in">
      <div>
        <h2 id="signed-in">Signed-in browsers</h2>
        <p className="muted small">
          Each has full access. A browser is signed out after {SESSION_DAYS} days without use.
        </p>
      </div>
      <div className={`${classes.fields} stack gap-4`}>
        {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
        {answer.data && answer.data.items.length > 0 && <SessionList sessions={answer.data.items} />}
        {answer.data?.items.length === 0 && <p className="muted">No browser is signed in.</p>}
      </div>
    </section>
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
    {
      id: 'since',
      header: 'Signed in',
      width: '9rem',
      cell: ({ created_at }) => <TimeText at={created_at} />,
    },
    {
      id: 'used',
      header: 'Last used',
      width: '9rem',
      hideBelow: 'narrow',
      cell: ({ last_used_at }) => <TimeText at={last_used_at} />,
    },
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
