import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { NoiseRule } from '../../../../../shared/collection/noise.ts';
import { call } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DiffContent } from '../../timeline/diff/EventDiff.tsx';
import classes from './NoisePreviewPanel.module.css';

export interface WhatIsLeftProps {
  sourceId: string;
  rules: NoiseRule[];
  /** The event id of the change. */
  event: number;
}

/** Shows the part of a change that no rule explains. */
export function RemainingDifferences({ sourceId, rules, event }: WhatIsLeftProps) {
  const comparison = useMutation({
    mutationFn: () => call('previewNoiseRules', { params: { id: sourceId }, body: { rules, event } }),
  });
  const diff = comparison.data?.diff;
  if (diff) {
    return (
      <section
        className={classes.left}
        aria-label="Remaining differences in the latest change"
        // The text scrolls, so it must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {diff.noise.is_noise ? (
          <p className="small">No differences remain. The rules explain the whole change.</p>
        ) : (
          <DiffContent diff={diff} />
        )}
      </section>
    );
  }
  return (
    <>
      <Button
        variant="subtle"
        size="xs"
        className={classes.show}
        onClick={() => comparison.mutate()}
        loading={comparison.isPending}
      >
        Show remaining differences in the latest change
      </Button>
      {comparison.isError && <ErrorNote error={comparison.error} onRetry={() => comparison.mutate()} />}
    </>
  );
}
