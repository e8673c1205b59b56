import { Button } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { call, NodeUnreachable } from '../../api/client.ts';
import { desktop } from '../../desktop.ts';
import { readSession, useSession } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import classes from './layout.module.css';

/** Says on every page that this is the sample archive, and offers to leave it. */
export function SampleBanner() {
  const isSample = useSession(({ session }) => session?.sample === 'open');
  const isOwner = useSession(({ session }) => session?.owner ?? false);
  const leave = useArchiveChange('removeSample');
  if (!isSample) return null;
  return (
    <aside className={classes.banner} aria-label="Sample archive">
      <div className={`${classes.bannerWords} cluster gap-4 between`}>
        <p className="line gap-2 shrink">
          <IconFlask size={18} aria-hidden />
          <span>
            <strong>This is the sample archive.</strong> Everything in it is invented. What you add here is
            removed with it.
          </span>
        </p>
        {isOwner && (
          <Button
            size="compact-sm"
            variant="default"
            loading={leave.isPending}
            onClick={() => leave.mutate()}
          >
            Remove it and go back
          </Button>
        )}
      </div>
      {leave.error && <ErrorNote error={leave.error} />}
    </aside>
  );
}

/** Offers the sample archive, where an app can open it. */
export function SampleOffer() {
  const isOffered = useSession(({ session }) => session?.sample === 'offered');
  const open = useArchiveChange('openSample');
  if (!isOffered) return null;
  return (
    <section className="mb-6 stack gap-3" aria-label="Sample archive">
      <div className="card cluster gap-4 between">
        <div className="shrink">
          <h3>Look around first</h3>
          <p className="small muted">
            A sample archive has three packs, two sources that change, and a case. It is kept apart from yours
            and is removed with one click.
          </p>
        </div>
        <Button variant="default" loading={open.isPending} onClick={() => open.mutate()}>
          Open the sample
        </Button>
      </div>
      {open.error && <ErrorNote error={open.error} />}
    </section>
  );
}

/** Opens the sample archive, or leaves it. The page of the other archive replaces this one. */
function useArchiveChange(route: 'openSample' | 'removeSample') {
  return useMutation({
    mutationFn: async () => {
      const { node } = await readSession();
      const resume = await leaveDraft();
      try {
        const { sign_in } = await call(route);
        // The app closes this window and starts again.
        if (!desktop()) await untilOtherThan(node);
        if (route === 'openSample') setAside();
        else bringBack();
        if (!desktop()) window.location.assign(sign_in);
      } catch (error) {
        resume();
        throw error;
      }
      // The button shows that it works until this page is gone.
      await new Promise(() => {});
    },
  });
}

const POLL_MS = 200;
/** An archive opens within a second or two; a large one takes longer. */
const MAX_POLLS = 300;

/** Resolves when another archive is served at this address. @throws NodeUnreachable */
async function untilOtherThan(node: string): Promise<void> {
  let failure: unknown;
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    try {
      if ((await call('readSession')).node !== node) return;
    } catch (error) {
      // One archive is closed and the other is not open yet.
      failure = error;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new NodeUnreachable(failure);
}

/**
 * Saves what was typed last on the node, and saves nothing more: the next save would reach the other archive. Returns a
 * function that goes on with it. @throws why it could not be saved
 */
async function leaveDraft(): Promise<() => void> {
  const [{ draftSession }, { hasContent }] = await Promise.all([
    import('../../pages/assemble/draftSession.ts'),
    import('../../pages/assemble/draftStore.ts'),
  ]);
  if (hasContent()) await draftSession.flush();
  draftSession.stop();
  return () => void draftSession.start();
}

const SET_ASIDE = 'strongroom-set-aside';
/** What belongs to the person and not to an archive. */
const OF_PERSON = ['strongroom-look', 'strongroom-shortcuts'];

/** Keeps what this browser knows of the own archive, such as what was typed into forms, away from the sample. */
function setAside(): void {
  const kept = { local: takeAll(localStorage), session: takeAll(sessionStorage) };
  localStorage.setItem(SET_ASIDE, JSON.stringify(kept));
}

/** Forgets what this browser knows of the sample. */
function bringBack(): void {
  const kept = JSON.parse(localStorage.getItem(SET_ASIDE) ?? '{}') as {
    [name in 'local' | 'session']?: Record<string, string>;
  };
  putAll(localStorage, kept.local);
  putAll(sessionStorage, kept.session);
}

function putAll(storage: Storage, values: Record<string, string> = {}): void {
  takeAll(storage);
  for (const [key, value] of Object.entries(values)) storage.setItem(key, value);
}

/** Removes everything of an archive from a storage, and returns it. */
function takeAll(storage: Storage): Record<string, string> {
  const keys = Object.keys(storage).filter((key) => !OF_PERSON.includes(key));
  const taken = keys.map((key): [string, string] => [key, storage.getItem(key) ?? '']);
  for (const key of keys) storage.removeItem(key);
  return Object.fromEntries(taken);
}
