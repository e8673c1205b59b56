import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import type { LedgerEntry } from '../../../../../shared/ledger/ledger.ts';
import { formatCount } from '../../../format/size.ts';
import { PAGE_ENTRIES } from '../useLedgerPage.ts';
import classes from './EntryPager.module.css';

export interface EntryPagerProps {
  /** Distinguishes the two pagers for screen readers. */
  label: string;
  /** The number of the last entry. */
  head: number;
  /** The entries shown, newest first. */
  entries: readonly LedgerEntry[];
  /** Shows the page that ends with this entry, or the newest page if undefined. */
  onGoTo: (top: number | undefined) => void;
}

/** The range shown, links to newer and older entries, and a field to go to any entry. */
export function EntryPager({ label, head, entries, onGoTo }: EntryPagerProps) {
  const newest = entries[0]?.seq ?? 0;
  const oldest = entries.at(-1)?.seq ?? 0;
  return (
    <nav className={classes.pager} aria-label={label}>
      <span className="numeric muted">
        {formatCount(newest)} down to {formatCount(oldest)} of {formatCount(head)}
      </span>
      <span className={classes.buttons}>
        <JumpTo head={head} />
        <Button variant="default" size="xs" disabled={newest >= head} onClick={() => onGoTo(undefined)}>
          Newest
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={newest >= head}
          onClick={() => onGoTo(newest + PAGE_ENTRIES >= head ? undefined : newest + PAGE_ENTRIES)}
        >
          Newer
        </Button>
        <Button variant="default" size="xs" disabled={oldest <= 1} onClick={() => onGoTo(oldest - 1)}>
          Older
        </Button>
      </span>
    </nav>
  );
}

function JumpTo({ head }: { head: number }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState<string>();
  const jump = (event: FormEvent) => {
    event.preventDefault();
    const seq = Number(typed.replace(/[#,\s]/g, ''));
    if (!Number.isInteger(seq) || seq < 1 || seq > head) {
      setFault(`Enter a number from 1 to ${formatCount(head)}.`);
      return;
    }
    setFault(undefined);
    void navigate(`/ledger#${seq}`);
  };
  return (
    <form onSubmit={jump}>
      <TextInput
        size="xs"
        w={130}
        inputMode="numeric"
        aria-label="Go to entry number"
        placeholder="Go to entry…"
        value={typed}
        error={fault}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}
