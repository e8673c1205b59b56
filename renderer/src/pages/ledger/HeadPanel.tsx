import { Button } from '@mantine/core';
import { IconDeviceFloppy, IconFileSearch } from '@tabler/icons-react';
import type { LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { saveFile } from '../../api/saveFile.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import { checkpointFileName, checkpointOf, checkpointText } from './checkpointFile.ts';
import classes from './HeadPanel.module.css';

export interface HeadPanelProps {
  head: LedgerHead;
  isChecking: boolean;
  onCheck: () => void;
}

/** The head of the ledger in three values, which a person can save and compare later. */
export function HeadPanel({ head, isChecking, onCheck }: HeadPanelProps) {
  const node = useSession((state) => state.session?.node) ?? 'node';
  const save = () => {
    const saved = checkpointOf(head, node, new Date().toISOString());
    saveFile(checkpointFileName(saved), checkpointText(saved), 'application/json');
  };
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
          <Button variant="default" leftSection={<IconDeviceFloppy size={16} aria-hidden />} onClick={save}>
            Save checkpoint
          </Button>
          <Button
            variant="default"
            leftSection={<IconFileSearch size={16} aria-hidden />}
            aria-expanded={isChecking}
            onClick={onCheck}
          >
            Check a checkpoint
          </Button>
        </div>
        <p className="small muted">
          Keep the file in another place. It shows later whether the ledger was rewritten.
        </p>
      </div>
    </section>
  );
}
