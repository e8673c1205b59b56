import { Button, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconSend } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { WitnessRefusal, WitnessState } from '../../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { readText } from '../../../api/client.ts';
import { useCall, useSave } from '../../../api/useCall.ts';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { CopyButton, IconButton } from '../../../components/forms/buttons.tsx';
import { Section } from '../../../components/layout/Page.tsx';
import { countOf } from '../../../format.ts';
import { Finding } from '../VerifyPanel.tsx';

/** The owner's view of who cosigned the checkpoint, and of the logs for which this node is a witness. */
export function Witnesses() {
  const states = useCall('readWitnesses');
  const refusals = useCall('listWitnessRefusals', { query: { limit: MAX_LIST_LIMIT } });
  return (
    <Section title="Witnesses">
      <Stack gap="sm" align="stretch">
        <p className="muted">
          A witness cosigns a checkpoint only if it continues the previous one. With its cosignature, this
          node cannot show two readers different histories without being detected.
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
  const submit = useSave('submitToWitnesses', () => ({}));
  return (
    <>
      <IconButton
        icon={IconSend}
        style={{ alignSelf: 'start' }}
        loading={submit.isPending}
        onClick={() => submit.mutate()}
      >
        Have it cosigned now
      </IconButton>
      {submit.error && <ErrorNote error={submit.error} />}
    </>
  );
}

/** An alert about a log that contradicts itself. */
function Refusal({ refusal }: { refusal: WitnessRefusal }) {
  const { origin, at, size, known_size, is_proof } = refusal;
  const title = is_proof
    ? `${origin} has two histories of ${countOf(size, 'entry', 'entries')}.`
    : `${origin} showed a checkpoint that does not continue the previous one.`;
  return (
    <Finding ok={false} title={title}>
      <p className="small muted">
        <TimeText at={at} show="exact" />. This node had cosigned {countOf(known_size, 'entry', 'entries')},
        was shown {countOf(size, 'entry', 'entries')}, and refused.{' '}
        {is_proof
          ? 'Both checkpoints are signed by the log, which proves it.'
          : 'The checkpoint is signed by the log, but the proof may have been altered in transit.'}{' '}
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

/** The logs for which this node is a witness, each with what it cosigned last. */
function WitnessedLogs() {
  const logs = useCall('listWitnessedLogs', { query: { limit: MAX_LIST_LIMIT } });
  const remove = useSave('removeWitnessedLog', (origin: string) => ({ params: { origin } }));
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
      <AddLog />
    </>
  );
}

function AddLog() {
  const [key, setKey] = useState('');
  const add = useSave('addWitnessedLog', () => ({ body: { key: key.trim() } }), {
    onSaved: () => setKey(''),
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

/** A verifier key, to compare and to copy. `what` names it to screen readers. */
export function KeyText({ text, what }: { text: string; what: string }) {
  return (
    <p className="mt-1 mb-1 line gap-2 compact">
      <span className="mono wrap-anywhere">{text}</span>
      <CopyButton text={text} what={what} />
    </p>
  );
}
