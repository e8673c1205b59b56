import { Button, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { call } from '../../../api/client.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';

/** The logs for which this node is a witness, each with what it cosigned last. */
export function WitnessedLogs() {
  const logs = useCall('listWitnessedLogs', { query: { limit: MAX_LIST_LIMIT } });
  const queries = useQueryClient();
  const reload = () => queries.invalidateQueries({ queryKey: callKey('listWitnessedLogs') });
  const remove = useMutation({
    mutationFn: (origin: string) => call('removeWitnessedLog', { params: { origin } }),
    onSuccess: reload,
  });
  const items = logs.data?.items ?? [];
  return (
    <>
      {logs.error && <ErrorNote error={logs.error} onRetry={() => void logs.refetch()} />}
      {items.length > 0 && (
        <DataTable
          caption="Witnessed logs"
          rows={items}
          rowKey={({ origin }) => origin}
          columns={[
            {
              id: 'origin',
              header: 'This node is a witness of',
              cell: ({ origin }) => <span className="wrap-anywhere">{origin}</span>,
            },
            { id: 'size', header: 'Entries', width: '8rem', hideBelow: 'narrow', cell: ({ size }) => size },
            {
              id: 'at',
              header: 'Cosigned',
              width: '14rem',
              hideBelow: 'narrow',
              cell: ({ cosigned_at }) =>
                cosigned_at === null ? <span className="muted">never</span> : <TimeText at={cosigned_at} />,
            },
            {
              id: 'remove',
              header: 'Remove',
              isHeaderHidden: true,
              width: '8rem',
              cell: ({ origin }) => (
                <Button
                  variant="default"
                  size="compact-sm"
                  aria-label={`Remove ${origin}`}
                  onClick={() => remove.mutate(origin)}
                >
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      {remove.error && <ErrorNote error={remove.error} />}
      <AddLog onAdded={reload} />
    </>
  );
}

function AddLog({ onAdded }: { onAdded: () => Promise<unknown> }) {
  const [key, setKey] = useState('');
  const add = useMutation({
    mutationFn: () => call('addWitnessedLog', { body: { key: key.trim() } }),
    onSuccess: () => {
      setKey('');
      return onAdded();
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <TextInput
        label="Be a witness of another log"
        description="Its verifier key: what another node shows at /api/ledger/key."
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        rightSectionWidth={90}
        rightSection={
          <Button
            type="submit"
            variant="default"
            size="compact-sm"
            leftSection={<IconPlus size={14} aria-hidden />}
            loading={add.isPending}
          >
            Add
          </Button>
        }
      />
      {add.error && <ErrorNote error={add.error} />}
    </form>
  );
}
