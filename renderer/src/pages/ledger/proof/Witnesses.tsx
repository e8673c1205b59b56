import { Button, Stack } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { WitnessRefusal, WitnessState } from '../../../../../shared/ledger/witness.ts';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { call } from '../../../api/client.ts';
import { readText } from '../../../api/readText.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { countOf } from '../../../format/size.ts';
import { Finding } from '../Findings.tsx';
import { KeyText } from '../KeyText.tsx';
import { WitnessedLogs } from './WitnessedLogs.tsx';

/** The owner's view of who cosigned the checkpoint, and of the logs for which this node is a witness. */
export function Witnesses() {
  const states = useCall('readWitnesses');
  const refusals = useCall('listWitnessRefusals', { query: { limit: MAX_LIST_LIMIT } });
  return (
    <Section title="Witnesses">
      <Stack gap="sm" align="stretch">
        <p className="muted">
          A witness cosigns a checkpoint only if it continues the one before. With its line in the checkpoint,
          this node cannot show two readers different histories unnoticed.
        </p>
        {states.error && <ErrorNote error={states.error} onRetry={() => void states.refetch()} />}
        {states.data?.witnesses.length === 0 && (
          <p className="muted small">No witnesses yet. Add them in the settings.</p>
        )}
        {states.data && states.data.witnesses.length > 0 && (
          <>
            <WitnessTable ledgerSize={states.data.size} witnesses={states.data.witnesses} />
            <SubmitNow />
          </>
        )}
        {refusals.data?.items.map((refusal) => (
          <Refusal key={refusal.id} refusal={refusal} />
        ))}
        <OwnKey />
        <WitnessedLogs />
      </Stack>
    </Section>
  );
}

function WitnessTable({ ledgerSize, witnesses }: { ledgerSize: number; witnesses: readonly WitnessState[] }) {
  return (
    <DataTable
      caption="Witnesses"
      rows={witnesses}
      rowKey={({ key }) => key}
      columns={[
        { id: 'url', header: 'Witness', cell: ({ url }) => <span className="wrap-anywhere">{url}</span> },
        {
          id: 'size',
          header: 'Cosigned',
          width: '14rem',
          cell: ({ size }) => (size === ledgerSize ? 'all entries' : `${size} of ${ledgerSize} entries`),
        },
        {
          id: 'at',
          header: 'At',
          width: '14rem',
          cell: ({ cosigned_at }) =>
            cosigned_at === null ? (
              <span className="muted">never</span>
            ) : (
              <TimeText at={cosigned_at} show="exact" />
            ),
        },
        { id: 'error', header: 'Last failure', cell: ({ error }) => error ?? '' },
      ]}
    />
  );
}

function SubmitNow() {
  const queries = useQueryClient();
  const submit = useMutation({
    mutationFn: () => call('submitToWitnesses'),
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('readWitnesses') }),
  });
  return (
    <>
      <Button
        variant="default"
        style={{ alignSelf: 'start' }}
        leftSection={<IconSend size={16} aria-hidden />}
        loading={submit.isPending}
        onClick={() => submit.mutate()}
      >
        Have it cosigned now
      </Button>
      {submit.error && <ErrorNote error={submit.error} />}
    </>
  );
}

/** An alert about a log that contradicts itself. */
function Refusal({ refusal }: { refusal: WitnessRefusal }) {
  const { origin, at, size, known_size, is_proof } = refusal;
  const title = is_proof
    ? `${origin} has two histories of ${countOf(size, 'entry', 'entries')}.`
    : `${origin} showed a checkpoint that does not follow the one before.`;
  return (
    <Finding ok={false} title={title}>
      <p className="small muted">
        <TimeText at={at} show="exact" />. This node had cosigned {countOf(known_size, 'entry', 'entries')},
        was shown {countOf(size, 'entry', 'entries')}, and refused.{' '}
        {is_proof
          ? 'Both checkpoints are signed by the log, which proves it.'
          : 'The checkpoint is signed by the log, but its proof may also have been spoilt by whoever sent it.'}{' '}
        Both are kept: <a href="/manage/witness/refusals">evidence</a>.
      </p>
    </Finding>
  );
}

function OwnKey() {
  const key = useQuery({
    queryKey: ['readWitnessKey'],
    queryFn: async ({ signal }) => (await readText('readWitnessKey', signal)).trim(),
  });
  if (!key.data) return null;
  return (
    <div>
      <p className="small">This node as a witness:</p>
      <KeyText text={key.data} what="the witness key" />
    </div>
  );
}
