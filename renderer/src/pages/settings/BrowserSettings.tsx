import { Button, SegmentedControl } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ThemeSwitch } from '../../components/layout/ThemeSwitch.tsx';
import { desktop } from '../../desktop.ts';
import { useDisplaySettings, type Zone } from '../../state/displaySettings.ts';
import { useIsOwner, useSession } from '../../state/session.ts';
import classes from './SettingsPage.module.css';

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
      <div className={classes.fields}>
        <div className={classes.row}>
          <span>Theme</span>
          <div className={classes.control}>
            <ThemeSwitch />
          </div>
        </div>
        <div className={classes.row}>
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
      <div className={classes.row}>
        <span>
          Session
          <span className={`${classes.meaning} muted small`}>
            To sign in again you need a new one-time link. The node prints one when it starts; “strongroom
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
