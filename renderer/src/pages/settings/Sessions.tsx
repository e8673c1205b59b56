import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type OwnerSession, SESSION_DAYS } from '../../../../shared/node/session.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { useSession } from '../../state/session.ts';
import classes from './SettingsPage.module.css';

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
      <div className={classes.fields}>
        {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
        {answer.data && answer.data.items.length > 0 && <SessionList sessions={answer.data.items} />}
        {answer.data?.items.length === 0 && <p className="muted">No browser is signed in.</p>}
      </div>
    </section>
  );
}

function SessionList({ sessions }: { sessions: readonly OwnerSession[] }) {
  const queries = useQueryClient();
  const load = useSession((state) => state.load);
  const end = useMutation({
    mutationFn: ({ id }: OwnerSession) => call('endSession', { params: { id } }),
    onSettled: (_answer, _error, { current }) =>
      current ? load() : queries.invalidateQueries({ queryKey: callKey('listSessions') }),
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
