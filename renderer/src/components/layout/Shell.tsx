import { Burger, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Link, Outlet, useLocation, useNavigate } from 'react-router';
import { useDiskAway } from '../../api/client.ts';
import { signInRefusal } from '../../api/ownerSession.ts';
import { readDropped } from '../../droppedFiles.ts';
import { useNodeJobs } from '../../state/jobs.ts';
import { invitationInFragment, useInvitationLink, useSession } from '../../state/session.ts';
import { DiskAwayNote, describeError, ErrorNote } from '../feedback/ErrorNote.tsx';
import { JobsTray } from '../feedback/JobsTray.tsx';
import classes from './layout.module.css';
import { Navigation } from './Navigation.tsx';
import { Palette } from './Palette.tsx';
import { SampleBanner } from './Sample.tsx';

/** The layout around every page: navigation on the left (on top if narrow) and jobs at the bottom. */
export function Shell() {
  const { session, error, load } = useSession();
  const [menuOpen, menu] = useDisclosure(false);
  const { pathname } = useLocation();
  const isDiskAway = useDiskAway(({ sentence }) => sentence !== undefined);
  useNodeJobs(session?.owner ?? false);
  useOpenedInvitation();
  useRefusedSignIn();
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
        <Link to="/" className={`${classes.wordmark} quiet-link serif strong`}>
          Strongroom
        </Link>
        <span className="cut push muted tiny nowrap mono">{session?.node}</span>
      </header>
      <Palette />
      <WindowDrop />
      <div className={classes.side}>
        <Navigation />
      </div>
      <Drawer opened={menuOpen} onClose={menu.close} title="Strongroom" size={280} padding="md">
        <Navigation inDrawer />
      </Drawer>
      <div className={classes.column}>
        <SampleBanner />
        <main id="main" tabIndex={-1} className={`${classes.main} fill full`}>
          {isDiskAway && (
            <div className="mb-5">
              <DiskAwayNote />
            </div>
          )}
          {error !== undefined && !isDiskAway && (
            <div className="mb-5">
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

/**
 * Accepts the invitation in the address, if there is one. The address is replaced first, so that the token stays neither
 * in the address bar nor in the history.
 */
function useOpenedInvitation(): void {
  const { hash } = useLocation();
  const navigate = useNavigate();
  const accept = useInvitationLink((link) => link.accept);
  useEffect(() => {
    const token = invitationInFragment(hash);
    if (token === undefined) return;
    void navigate('/sharing', { replace: true });
    void accept(token);
  }, [hash, navigate, accept]);
}

/** Says that the sign-in link that opened this page was refused, unless the browser is signed in anyway. */
function useRefusedSignIn(): void {
  const isVisitor = useSession(({ session }) => session?.owner === false);
  useEffect(() => {
    const refusal = signInRefusal();
    if (isVisitor && refusal) notifications.show({ color: 'red', message: refusal.detail, autoClose: false });
  }, [isVisitor]);
}

const ImportDialog = lazy(() => import('../../pages/assemble/ImportDialog.tsx'));

/** Pages that take dropped files themselves. */
const OWN_PAGES = ['/verify'];
/** An open dialog is finished first. */
const DIALOG = '[role="dialog"], .mantine-Modal-overlay, .mantine-Drawer-overlay';

/** Accepts files dropped anywhere in the window: pack files are imported, others start a new pack. */
function WindowDrop() {
  const [isOver, setIsOver] = useState(false);
  const [hasDropped, setHasDropped] = useState(false);
  const drop = useTakeDrop(() => setHasDropped(true));
  const { pathname } = useLocation();
  const isOwn = OWN_PAGES.includes(pathname);
  useEffect(() => {
    if (isOwn) return;
    let depth = 0;
    const onDrag = (event: DragEvent, by: 1 | -1) => {
      if (!isFiles(event)) return;
      depth += by;
      setIsOver(depth > 0 && !isOnDialog(event));
    };
    const enter = (event: DragEvent) => onDrag(event, 1);
    const leave = (event: DragEvent) => onDrag(event, -1);
    const over = (event: DragEvent) => {
      if (!isFiles(event)) return;
      // Without this, the browser would open the file.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy';
    };
    const onDrop = (event: DragEvent) => {
      depth = 0;
      setIsOver(false);
      // A field that takes files has taken these.
      if (!isFiles(event) || event.defaultPrevented) return;
      event.preventDefault();
      if (event.dataTransfer && !isOnDialog(event)) drop(event.dataTransfer);
    };
    const pairs = [
      ['dragenter', enter],
      ['dragleave', leave],
      ['dragover', over],
      ['drop', onDrop],
    ] as const;
    for (const [name, listen] of pairs) window.addEventListener(name, listen);
    return () => {
      for (const [name, listen] of pairs) window.removeEventListener(name, listen);
    };
  }, [isOwn, drop]);
  return (
    <>
      {isOver && (
        <div className={classes.overlay} aria-hidden>
          <p>Drop to start a new pack, or to import pack files</p>
        </div>
      )}
      {hasDropped && (
        <Suspense>
          <ImportDialog />
        </Suspense>
      )}
    </>
  );
}

/** Returns a function with a stable identity. It loads what reads the files only when some are dropped. */
function useTakeDrop(onTaken: () => void): (transfer: DataTransfer) => void {
  const navigate = useNavigate();
  const take = (transfer: DataTransfer) => {
    // Read at once: the entries expire with the event.
    const dropped = readDropped(transfer);
    onTaken();
    import('../../pages/assemble/ImportDialog.tsx')
      .then(({ importDropped }) => importDropped(dropped, () => void navigate('/assemble')))
      .catch((error: unknown) => {
        const message = describeError(error).sentence;
        notifications.show({ title: 'The files were not added', message, color: 'red' });
      });
  };
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
  });
  const [stable] = useState(() => (transfer: DataTransfer) => latest.current(transfer));
  return stable;
}

function isFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}

function isOnDialog({ target }: DragEvent): boolean {
  return target instanceof Element && target.closest(DIALOG) !== null;
}
