import { Switch } from '@mantine/core';
import type { WatchedSource } from '../../../../shared/collection/source.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';

/** Which peers are asked to fetch a source too, when it changes. Only for the owner, and if there are peers. */
export function SourceObservers({ source }: { source: WatchedSource | undefined }) {
  const { id = '', removed = true } = source ?? {};
  const { data, error, refetch } = useCall('readSourceObservers', { params: { id } }, { enabled: !removed });
  const change = useSave('setSourceObservers', (peers: string[]) => ({ params: { id }, body: { peers } }));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data || removed || data.peers.length === 0) return null;
  const { refusal, peers } = data;
  const asked = change.isPending ? change.variables : peers.flatMap((each) => (each.asked ? each.peer : []));
  const set = (peer: string, isAsked: boolean) =>
    change.mutate(isAsked ? [...asked, peer] : asked.filter((each) => each !== peer));
  return (
    <Section title="Also seen by">
      <p className="mb-4 muted">
        {refusal === null
          ? 'When this source changes, a peer fetches the address at the same moment and signs what it got. Its owner must have agreed. The peer learns that you watch this address.'
          : `No peer is asked to fetch this source. ${refusal}`}
      </p>
      <ul className="plain stack gap-4">
        {peers.map(({ peer, name, asked_at, error: failure }) => (
          <li key={peer}>
            <Switch
              label={name}
              description={
                asked_at && (
                  <>
                    Asked <TimeText at={asked_at} />. {failure ?? 'Its answer is recorded.'}
                  </>
                )
              }
              checked={asked.includes(peer)}
              disabled={change.isPending || (refusal !== null && !asked.includes(peer))}
              onChange={(event) => set(peer, event.currentTarget.checked)}
            />
          </li>
        ))}
      </ul>
      {change.error && <ErrorNote error={change.error} />}
    </Section>
  );
}
