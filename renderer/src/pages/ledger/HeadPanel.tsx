import { Button } from '@mantine/core';
import { IconDeviceFloppy, IconFileSearch } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { formatCount } from '../../format/size.ts';
import { saveCheckpoint } from './checkpoint/saveCheckpoint.ts';
import classes from './HeadPanel.module.css';

export interface HeadPanelProps {
  head: LedgerHead;
  isChecking: boolean;
  onCheck: () => void;
}

/** The head of the ledger in three values, and the checkpoint to save. */
export function HeadPanel({ head, isChecking, onCheck }: HeadPanelProps) {
  const save = useMutation({ mutationFn: saveCheckpoint });
  return (
    <section className={classes.panel} aria-label="Ledger head">
      <dl className={classes.facts}>
        <div>
          <dt>Entries</dt>
          <dd className={`${classes.count} numeric`}>{formatCount(head.seq)}</dd>
        </div>
        <div>
          <dt>Hash of the last entry</dt>
          <dd>
            <DigestChip digest={head.hash} label="hash of the last entry" />
          </dd>
        </div>
        <div>
          <dt>Root of all entries</dt>
          <dd>
            <DigestChip digest={head.root} label="root of the tree over all entries" />
          </dd>
        </div>
      </dl>
      <div className={classes.keep}>
        <div className={classes.actions}>
          <Button
            variant="default"
            leftSection={<IconDeviceFloppy size={16} aria-hidden />}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            Save checkpoint
          </Button>
          <Button
            variant="default"
            leftSection={<IconFileSearch size={16} aria-hidden />}
            aria-expanded={isChecking}
            onClick={onCheck}
          >
            Check a saved checkpoint
          </Button>
        </div>
        <p className="small muted">
          A checkpoint is the size and the root of the ledger, signed by this node. Keep the file in another
          place. It shows later whether the ledger was rewritten.
        </p>
        {save.error && <ErrorNote error={save.error} />}
      </div>
    </section>
  );
}
