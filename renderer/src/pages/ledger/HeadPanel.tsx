import { Button } from '@mantine/core';
import { IconDeviceFloppy, IconFileSearch } from '@tabler/icons-react';
import type { LedgerHead } from '../../../../shared/ledger.ts';
import { saveFile } from '../../api/saveFile.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import classes from './HeadPanel.module.css';
import { headFileName, headFileText, savedHeadOf } from './savedHead.ts';

export interface HeadPanelProps {
  head: LedgerHead;
  isChecking: boolean;
  onCheck: () => void;
}

/** Where the ledger stands, in three facts that a person can carry away and come back with. */
export function HeadPanel({ head, isChecking, onCheck }: HeadPanelProps) {
  const node = useSession((state) => state.session?.node) ?? 'node';
  const save = () => {
    const saved = savedHeadOf(head, node, new Date().toISOString());
    saveFile(headFileName(saved), headFileText(saved), 'application/json');
  };
  return (
    <section className={classes.panel} aria-label="The head of the ledger">
      <dl className={classes.facts}>
        <div>
          <dt>Entries</dt>
          <dd className={`${classes.count} numeric`}>{formatCount(head.seq)}</dd>
        </div>
        <div>
          <dt>Hash of the last</dt>
          <dd>
            <DigestChip digest={head.hash} label="hash of the last entry" />
          </dd>
        </div>
        <div>
          <dt>Root of all</dt>
          <dd>
            <DigestChip digest={head.root} label="root of the tree over all entries" />
          </dd>
        </div>
      </dl>
      <div className={classes.keep}>
        <div className={classes.actions}>
          <Button variant="default" leftSection={<IconDeviceFloppy size={16} aria-hidden />} onClick={save}>
            Save the head
          </Button>
          <Button
            variant="default"
            leftSection={<IconFileSearch size={16} aria-hidden />}
            aria-expanded={isChecking}
            onClick={onCheck}
          >
            Check a saved head
          </Button>
        </div>
        <p className="small muted">
          Keep the small file somewhere else. Whoever holds it can tell later whether anything was rewritten.
        </p>
      </div>
    </section>
  );
}
