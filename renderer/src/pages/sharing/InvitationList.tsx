import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Invitation } from '../../../../shared/node/invitation.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';

/** Active invitations, newest first, with their use. */
export function InvitationList({ invitations }: { invitations: readonly Invitation[] }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: (id: string) => call('revokeInvitation', { params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('listInvitations') }),
  });
  const columns: Column<Invitation>[] = [
    { id: 'name', header: 'For', cell: ({ name }) => name || <span className="muted">unnamed</span> },
    {
      id: 'created',
      header: 'Created',
      width: '9rem',
      hideBelow: 'narrow',
      cell: ({ created_at }) => <TimeText at={created_at} />,
    },
    {
      id: 'used',
      header: 'Last used',
      width: '9rem',
      hideBelow: 'narrow',
      cell: ({ last_used_at }) =>
        last_used_at ? <TimeText at={last_used_at} /> : <span className="muted">never</span>,
    },
    { id: 'writes', header: 'Writes', width: '5rem', align: 'end', cell: ({ writes }) => writes },
    {
      id: 'revoke',
      header: 'Revoke',
      isHeaderHidden: true,
      width: '7rem',
      align: 'end',
      cell: ({ id, name }) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Revoke invitation: ${name || 'unnamed'}`}
          loading={revoke.isPending && revoke.variables === id}
          onClick={() => revoke.mutate(id)}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <>
      {revoke.error && <ErrorNote error={revoke.error} />}
      <DataTable caption="Invitations" columns={columns} rows={invitations} rowKey={({ id }) => id} />
    </>
  );
}
