import { Button, Textarea } from '@mantine/core';
import { useId, useState } from 'react';
import { settingsSchema } from '../../../../shared/node/settings.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { useIsOwner } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';

/** Public authorities that are proposed. None is asked unless the owner says yes. */
const PROPOSED = 'https://freetsa.org/tsr\nhttp://timestamp.digicert.com';

/** Whether the owner has yet to be asked whether timestamp authorities may be asked. */
export function useTimestampQuestion(): boolean {
  const isOwner = useIsOwner();
  const { data } = useCall('readSettings', {}, { enabled: isOwner });
  return (
    isOwner && data !== undefined && !data.timestamps_answered && data.timestamp_authorities.length === 0
  );
}

/** Asks the owner whether timestamp authorities may be asked, and says what they are sent. */
export function TimestampQuestion() {
  const heading = useId();
  const [urls, setUrls] = useState(PROPOSED);
  const [wrong, setWrong] = useState<string>();
  const answer = useSave('changeSettings', (timestamp_authorities: string[]) => ({
    body: { timestamp_authorities, timestamps_answered: true },
  }));
  const allow = () => {
    const authorities = urls.split(/\s+/).filter(Boolean);
    const { error } = settingsSchema.shape.timestamp_authorities.safeParse(authorities);
    const isEmpty = authorities.length === 0;
    setWrong(isEmpty ? 'Name at least one authority, or answer no.' : error?.issues[0]?.message);
    if (!isEmpty && !error) answer.mutate(authorities);
  };
  return (
    <section className="card mb-6 stack gap-3" aria-labelledby={heading}>
      <div className="measure stack gap-2">
        <h2 className="large" id={heading}>
          May this node ask timestamp authorities?
        </h2>
        <p className="muted small">
          Until one is asked, only the clock of this machine says when something was recorded, and nobody else
          can check that. An authority signs that a hash existed at a time. While the ledger grows, it gets
          one hash a day, the SHA-256 of the ledger’s checkpoint, and sees your IP address. It gets no title,
          no file and no address of a source.
        </p>
      </div>
      <Textarea
        autosize={false}
        rows={2}
        spellCheck={false}
        className="measure"
        label="Authorities"
        description="Two public ones are proposed. Name others if you prefer: their URLs, one per line."
        value={urls}
        error={wrong}
        onChange={({ currentTarget: { value } }) => {
          setUrls(value);
          setWrong(undefined);
        }}
      />
      <div className="cluster gap-3">
        <Button loading={answer.isPending} onClick={allow}>
          Yes, ask them
        </Button>
        <Button variant="default" disabled={answer.isPending} onClick={() => answer.mutate([])}>
          No
        </Button>
        <span className="muted small">You can change the answer in the settings.</span>
      </div>
      {answer.error && <ErrorNote error={answer.error} />}
    </section>
  );
}
