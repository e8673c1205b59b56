import { Button } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { call, NodeUnreachable } from '../../api/client.ts';
import { desktop } from '../../desktop.ts';
import { readSession, useSession } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import classes from './Sample.module.css';

/** Says on every page that this is the sample archive, and offers to leave it. */
export function SampleBanner() {
  const isSample = useSession(({ session }) => session?.sample === 'open');
  const isOwner = useSession(({ session }) => session?.owner ?? false);
  const leave = useArchiveChange('removeSample');
  if (!isSample) return null;
  return (
    <aside className={classes.banner} aria-label="Sample archive">
      <div className={`${classes.words} cluster gap-4 between`}>
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
      const { sign_in } = await call(route);
      // The app closes this window and starts again.
      if (!desktop()) {
        await untilOtherThan(node);
        window.location.assign(sign_in);
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
