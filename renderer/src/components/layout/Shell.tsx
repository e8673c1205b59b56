import { Burger, Drawer } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { spotlight } from '@mantine/spotlight';
import { lazy, Suspense, useEffect } from 'react';
import { Link, Outlet, useLocation } from 'react-router';
import { useNodeJobs } from '../../state/nodeJobs.ts';
import { useSession } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { JobsTray } from '../feedback/JobsTray.tsx';
import { Navigation } from './Navigation.tsx';
import classes from './Shell.module.css';
import { useOpenedInvitation } from './useOpenedInvitation.ts';
import { WindowDrop } from './WindowDrop.tsx';

// Loaded once the first page leaves the browser time. Its shortcut works at once: it opens as soon as it has arrived.
const Palette = lazy(async () => {
  await idle();
  return { default: (await import('./palette/Palette.tsx')).Palette };
});
const MAX_IDLE_WAIT_MS = 1000;

function idle(): Promise<void> {
  return new Promise((resolve) => {
    // Safari has no idle callbacks.
    if ('requestIdleCallback' in window)
      window.requestIdleCallback(() => resolve(), { timeout: MAX_IDLE_WAIT_MS });
    else setTimeout(resolve, MAX_IDLE_WAIT_MS);
  });
}

/** The layout around every page: navigation on the left (on top if narrow) and jobs at the bottom. */
export function Shell() {
  const { session, error, load } = useSession();
  const [menuOpen, menu] = useDisclosure(false);
  const { pathname } = useLocation();
  useNodeJobs(session?.owner ?? false);
  useOpenedInvitation();
  // Works in text fields too.
  useHotkeys([['mod + K', spotlight.open]], []);
  useEffect(() => {
    menu.close();
    window.scrollTo(0, 0);
    // Closes the menu when the page changes. The disclosure's functions never change.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [pathname]);

  return (
    <div className={classes.shell}>
      <a href="#main" className={classes.skip}>
        Skip to content
      </a>
      <header className={classes.bar}>
        <Burger
          size="sm"
          opened={menuOpen}
          onClick={menu.toggle}
          aria-label="Menu"
          aria-expanded={menuOpen}
          color="var(--text)"
        />
        <Link to="/" className={classes.wordmark}>
          Strongroom
        </Link>
        <span className={`${classes.barNode} mono`}>{session?.node}</span>
      </header>
      <Suspense fallback={null}>
        <Palette />
      </Suspense>
      <WindowDrop />
      <div className={classes.side}>
        <Navigation />
      </div>
      <Drawer opened={menuOpen} onClose={menu.close} title="Strongroom" size={280} padding="md">
        <Navigation inDrawer />
      </Drawer>
      <div className={classes.column}>
        <main id="main" tabIndex={-1} className={classes.main}>
          {error !== undefined && (
            <div className={classes.alert}>
              <ErrorNote error={error} onRetry={() => void load()} />
            </div>
          )}
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <Outlet />
          </Suspense>
        </main>
        <JobsTray />
      </div>
    </div>
  );
}
