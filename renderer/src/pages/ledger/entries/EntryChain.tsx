import { IconLink, IconLinkOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import { type LedgerEntry, NO_HASH } from '../../../../../shared/ledger/ledger.ts';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { formatCount } from '../../../format/size.ts';
import { hashOfEntry } from '../chain.ts';
import classes from './EntryChain.module.css';
import { EntryDetails } from './EntryDetails.tsx';
import { ENTRY_TYPES, subjectLabel, subjectUrl } from './entryLabels.ts';

/**
 * The entries as a chain, newest first. The `prev` of an entry is shown above the `hash` of the entry it
 * names. The line between them is solid only if this browser found the two equal.
 */
export function EntryChain({
  entries,
  chosen,
}: {
  entries: readonly LedgerEntry[];
  chosen: number | undefined;
}) {
  return (
    <ol className={classes.chain} reversed start={entries[0]?.seq}>
      {entries.map((entry, index) => (
        <EntryItem
          key={entry.seq}
          entry={entry}
          before={entries[index + 1]}
          isChosen={entry.seq === chosen}
        />
      ))}
    </ol>
  );
}

interface EntryItemProps {
  entry: LedgerEntry;
  /** The entry that `prev` names, if it is on the page. */
  before: LedgerEntry | undefined;
  isChosen: boolean;
}

function EntryItem({ entry, before, isChosen }: EntryItemProps) {
  const { seq, at, type, prev, hash } = entry;
  const { word, icon: Icon } = ENTRY_TYPES[type];
  const address = subjectUrl(entry);
  const isSealed = hashOfEntry(entry) === hash;
  return (
    <li id={`entry-${seq}`} className={classes.entry} data-chosen={isChosen || undefined}>
      <Link
        to={isChosen ? '/ledger' : `#${seq}`}
        className={`${classes.seq} numeric`}
        aria-expanded={isChosen}
        preventScrollReset
      >
        #{formatCount(seq)}
      </Link>
      <span className={classes.type}>
        <Icon size={16} stroke={1.7} aria-hidden />
        {word}
      </span>
      <span className={classes.subject}>
        {address ? <Link to={address}>{subjectLabel(entry)}</Link> : subjectLabel(entry)}
      </span>
      <span className={classes.time}>
        <TimeText at={at} />
      </span>
      <span className={classes.hash}>
        <span className={classes.word}>hash</span>
        <DigestChip digest={hash} label={`hash of entry ${seq}`} />
        {!isSealed && <Fault>does not match its content</Fault>}
      </span>
      <PrevLink seq={seq} prev={prev} before={before} />
      {isChosen && <EntryDetails entry={entry} isSealed={isSealed} />}
    </li>
  );
}

function PrevLink({ seq, prev, before }: { seq: number; prev: string; before: LedgerEntry | undefined }) {
  const isFirst = seq === 1;
  const isBroken = isFirst ? prev !== NO_HASH : before !== undefined && before.hash !== prev;
  return (
    <span className={classes.prev} data-broken={isBroken || undefined} data-first={isFirst || undefined}>
      <span className={classes.word}>prev</span>
      <DigestChip digest={prev} label={`prev of entry ${seq}`} />
      {isBroken ? (
        <Fault>
          {isFirst ? 'the first entry must not have one' : `is not the hash of #${formatCount(seq - 1)}`}
        </Fault>
      ) : (
        <span className={classes.links}>
          <IconLink size={13} aria-hidden />
          {isFirst
            ? 'the beginning'
            : before
              ? `is the hash of #${formatCount(seq - 1)}`
              : 'on the next page'}
        </span>
      )}
    </span>
  );
}

function Fault({ children }: { children: string | string[] }) {
  return (
    <strong className={classes.fault}>
      <IconLinkOff size={14} aria-hidden />
      {children}
    </strong>
  );
}
