import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { NoiseRule } from '../../../../../shared/noise.ts';
import { call } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DiffContent } from '../../timeline/diff/EventDiff.tsx';
import classes from './NoiseTrial.module.css';

export interface WhatIsLeftProps {
  sourceId: string;
  rules: NoiseRule[];
  /** The number of the change. */
  event: number;
}

/** On demand: what of one change the rules do not name. */
export function WhatIsLeft({ sourceId, rules, event }: WhatIsLeftProps) {
  const comparison = useMutation({
    mutationFn: () => call('previewNoiseRules', { params: { id: sourceId }, body: { rules, event } }),
  });
  const diff = comparison.data?.diff;
  if (diff) {
    return (
      <section
        className={classes.left}
        aria-label="What is left of the latest change"
        // It scrolls, so it has to be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {diff.noise.is_noise ? (
          <p className="small">Nothing is left: the rules explain all of it.</p>
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
        Show what is left of the latest change
      </Button>
      {comparison.isError && <ErrorNote error={comparison.error} onRetry={() => comparison.mutate()} />}
    </>
  );
}
