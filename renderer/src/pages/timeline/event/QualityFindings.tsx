import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { useCall } from '../../../api/useCall.ts';
import { LABEL_WORDS } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './QualityFindings.module.css';

/** Why a version may not be the expected page: each rule that found something, with its score. */
export function QualityFindings({ id }: { id: number }) {
  const [opened, setOpened] = useState(false);
  const { data, error } = useCall('readEventQuality', { params: { id } }, { enabled: opened });
  return (
    <div className={classes.findings}>
      <UnstyledButton className={classes.toggle} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {opened ? 'Hide the signs' : 'Show the signs'}
      </UnstyledButton>
      {opened && error && <ErrorNote error={error} />}
      {opened && data && (
        <>
          <ul className={classes.list}>
            {data.findings.map(({ rule, label, score, reason }) => (
              <li key={rule}>
                {reason}{' '}
                <span className="muted small">
                  ({LABEL_WORDS[label]}, {score} points, {rule})
                </span>
              </li>
            ))}
          </ul>
          <p className="muted small">
            {data.findings.length === 0
              ? 'The rules of this version of Strongroom find no sign in the archived bytes.'
              : `A version is labelled from ${data.threshold} points on.`}
          </p>
        </>
      )}
    </div>
  );
}
