import { Button, TextInput } from '@mantine/core';
import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconBandage,
  IconBinaryTree2,
  IconBuildingBank,
  IconDownload,
  IconEye,
  IconEyeCheck,
  IconEyeOff,
  IconFileUpload,
  IconFlag,
  IconFlask2,
  IconHistory,
  IconKey,
  IconLink,
  IconLinkOff,
  IconLock,
  IconLockOpen,
  IconMessage,
  IconNote,
  IconNoteOff,
  IconPackage,
  IconPhoto,
  IconRestore,
  IconStatusChange,
  IconTrash,
  IconWorldCog,
  IconWorldPlus,
  type TablerIcon,
} from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import {
  type EntryType,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
} from '../../../../shared/ledger/ledger.ts';
import { call } from '../../api/client.ts';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { formatCount } from '../../format.ts';
import { hashOfEntry } from './chain.ts';
import classes from './ledger.module.css';

interface EntriesProps {
  page: LedgerPageData;
  /** Why the page could not be refreshed. */
  error: Error | null;
  onRetry: () => void;
  /** The entry in the URL. */
  chosen: number | undefined;
  /** Shows the page that ends with this entry, or the newest page if undefined. */
  onGoTo: (top: number | undefined) => void;
}

/** A page of entries. The chosen entry is scrolled into view. */
export function Entries({ page: { head, entries, titles }, error, onRetry, chosen, onGoTo }: EntriesProps) {
  const isThere = entries.some(({ seq }) => seq === chosen);
  useEffect(() => {
    if (!isThere) return;
    document.getElementById(`entry-${chosen}`)?.scrollIntoView({ block: 'center' });
  }, [chosen, isThere]);
  return (
    <>
      <EntryPager label="Pages of entries" head={head.seq} entries={entries} onGoTo={onGoTo} />
      {error && <ErrorNote error={error} onRetry={onRetry} />}
      {chosen !== undefined && !isThere && chosen > head.seq && (
        <ErrorNote error={new Error(`Entry ${chosen} does not exist. The last entry is ${head.seq}.`)} />
      )}
      <EntryChain entries={entries} titles={titles} chosen={chosen} />
      <EntryPager label="Pages of entries (bottom)" head={head.seq} entries={entries} onGoTo={onGoTo} />
    </>
  );
}

/** Entries per page. */
export const PAGE_ENTRIES = 50;
const REFRESH_MS = 10_000;

interface LedgerPageData {
  head: LedgerHead;
  /** Newest first. */
  entries: LedgerEntry[];
  /** What the entries are about, by number. */
  titles: ReadonlyMap<number, string>;
}

/**
 * A page of the ledger, newest first: the entries up to `top`, or up to the head, which is then refreshed.
 * The node lists forward from an entry, so the first entry of the page is computed here.
 */
export function useLedgerPage(top: number | undefined) {
  return useQuery({
    queryKey: ['readLedger', 'page', top ?? 'head'],
    queryFn: ({ signal }) => readLedgerPage(top, signal),
    placeholderData: keepPreviousData,
    refetchInterval: top === undefined ? REFRESH_MS : undefined,
  });
}

async function readLedgerPage(top: number | undefined, signal: AbortSignal): Promise<LedgerPageData> {
  const last = top ?? (await call('readLedger', { query: { limit: 1 }, signal })).head.seq;
  const from = Math.max(1, last - PAGE_ENTRIES + 1);
  const limit = Math.max(1, last - from + 1);
  const query = { from, limit };
  const [{ items, head }, named] = await Promise.all([
    call('readLedger', { query, signal }),
    call('listEntryTitles', { query, signal }),
  ]);
  const titles = new Map(named.items.flatMap(({ seq, title }) => (title ? [[seq, title] as const] : [])));
  return { head, entries: items.toReversed(), titles };
}

interface EntryPagerProps {
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
function EntryPager({ label, head, entries, onGoTo }: EntryPagerProps) {
  const newest = entries[0]?.seq ?? 0;
  const oldest = entries.at(-1)?.seq ?? 0;
  return (
    <nav className={`${classes.pager} cluster gap-4 between small`} aria-label={label}>
      <span className="numeric muted">
        {formatCount(newest)} down to {formatCount(oldest)} of {formatCount(head)}
      </span>
      <span className="cluster gap-2 start">
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

/**
 * The entries as a chain, newest first. The `prev` of an entry is shown above the `hash` of the entry it
 * names. The line between them is solid only if this browser found the two equal.
 */
function EntryChain({
  entries,
  titles,
  chosen,
}: Pick<LedgerPageData, 'entries' | 'titles'> & { chosen: number | undefined }) {
  return (
    <ol className="container plain sheet" reversed start={entries[0]?.seq}>
      {entries.map((entry, index) => (
        <EntryItem
          key={entry.seq}
          entry={entry}
          title={titles.get(entry.seq) ?? subjectLabel(entry)}
          before={entries[index + 1]}
          isChosen={entry.seq === chosen}
        />
      ))}
    </ol>
  );
}

interface EntryItemProps {
  entry: LedgerEntry;
  /** What it is about, in words if there are some. */
  title: string;
  /** The entry that `prev` names, if it is on the page. */
  before: LedgerEntry | undefined;
  isChosen: boolean;
}

function EntryItem({ entry, title, before, isChosen }: EntryItemProps) {
  const { seq, at, type, prev, hash } = entry;
  const { word, icon: Icon } = ENTRY_TYPES[type];
  const address = subjectUrl(entry);
  const isSealed = hashOfEntry(entry) === hash;
  return (
    <li
      id={`entry-${seq}`}
      className={`${classes.entry} grid gap-4 compact`}
      data-chosen={isChosen || undefined}
    >
      <Link
        to={isChosen ? '/ledger' : `#${seq}`}
        className={`${classes.seq} quiet-link strong numeric`}
        aria-expanded={isChosen}
        preventScrollReset
      >
        #{formatCount(seq)}
      </Link>
      <span className={`${classes.type} line gap-2`}>
        <Icon size={16} stroke={1.7} aria-hidden />
        {word}
      </span>
      <span className={classes.subject} title={subjectLabel(entry)}>
        {address ? <Link to={address}>{title}</Link> : title}
      </span>
      <span className={`${classes.time} muted small`}>
        <TimeText at={at} />
      </span>
      <span className={`${classes.hash} line gap-2 relative tiny muted`}>
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
    <span
      className={`${classes.prev} line gap-2 relative tiny muted`}
      data-broken={isBroken || undefined}
      data-first={isFirst || undefined}
    >
      <span className={classes.word}>prev</span>
      <DigestChip digest={prev} label={`prev of entry ${seq}`} />
      {isBroken ? (
        <Fault>
          {isFirst ? 'the first entry must not have one' : `is not the hash of #${formatCount(seq - 1)}`}
        </Fault>
      ) : (
        <span className="line inline gap-1">
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
    <strong className="line inline gap-1 bad">
      <IconLinkOff size={14} aria-hidden />
      {children}
    </strong>
  );
}

/** All fields of an entry, and the result of recomputing its hash in this browser. */
function EntryDetails({ entry, isSealed }: { entry: LedgerEntry; isSealed: boolean }) {
  const { seq, at, type, subject, digest, prev, hash } = entry;
  return (
    <div className={`${classes.details} mt-2 stack gap-3`}>
      <dl className={`${classes.facts} pairs`}>
        <dt>Recorded</dt>
        <dd>
          <TimeText at={at} show="exact" />
        </dd>
        <dt>Type</dt>
        <dd className="mono">{type}</dd>
        <dt>Subject</dt>
        <dd className="mono">{subject}</dd>
        <DigestFact name="Digest" what="of the recorded content as canonical JSON" value={digest} />
        <DigestFact name="Prev" what="the hash of the previous entry" value={prev} />
        <DigestFact name="Hash" what="of the rest of this entry as canonical JSON" value={hash} />
      </dl>
      <p className={isSealed ? 'good' : 'bad strong'}>
        {isSealed
          ? 'Recomputed in this browser: the hash matches.'
          : 'Recomputed in this browser: the hash does not match. The entry was altered.'}
      </p>
      <p className="small">
        <a
          href={`/api/ledger/proof?seq=${seq}&format=tlog-proof`}
          download={`ledger-entry-${seq}.tlog-proof`}
        >
          Proof file
        </a>{' '}
        <span className="muted">
          proves that this entry is in the ledger. It contains the node’s signature and can be verified
          without the node.
        </span>
      </p>
    </div>
  );
}

function DigestFact({ name, what, value }: { name: string; what: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <span className="mono wrap-anywhere">{value}</span>
        <CopyButton text={value} what={name.toLowerCase()} />
        <span className="muted small">{what}</span>
      </dd>
    </>
  );
}

interface EntryTypeDisplay {
  word: string;
  icon: TablerIcon;
}

/** The label of each type of entry. */
const ENTRY_TYPES: Record<EntryType, EntryTypeDisplay> = {
  'node.created': { word: 'subject created', icon: IconBinaryTree2 },
  'study.created': { word: 'study created', icon: IconFlask2 },
  'study.status': { word: 'study status changed', icon: IconStatusChange },
  'pack.added': { word: 'pack added', icon: IconPackage },
  'pack.flagged': { word: 'pack flagged', icon: IconFlag },
  'comment.added': { word: 'comment added', icon: IconMessage },
  'source.added': { word: 'source added', icon: IconWorldPlus },
  'source.changed': { word: 'source changed', icon: IconWorldCog },
  'event.recorded': { word: 'event recorded', icon: IconHistory },
  'retrievals.recorded': { word: 'retrievals recorded', icon: IconDownload },
  'page.captured': { word: 'page captured', icon: IconPhoto },
  'page.handed_in': { word: 'page handed in', icon: IconFileUpload },
  'object.damaged': { word: 'object damaged', icon: IconAlertTriangle },
  'object.restored': { word: 'object restored', icon: IconBandage },
  'object.withheld': { word: 'object withheld', icon: IconEyeOff },
  'object.shown': { word: 'object shown again', icon: IconEye },
  'object.released': { word: 'object released', icon: IconTrash },
  'key.renewed': { word: 'key renewed', icon: IconKey },
  'key.certified': { word: 'key certified', icon: IconKey },
  'ledger.rolled_back': { word: 'ledger rolled back', icon: IconRestore },
  'peer.rewritten': { word: 'peer rewrote its ledger', icon: IconAlertOctagon },
  'finding.added': { word: 'finding added', icon: IconNote },
  'finding.withdrawn': { word: 'finding withdrawn', icon: IconNoteOff },
  'finding.sealed': { word: 'finding sealed', icon: IconLock },
  'finding.revealed': { word: 'finding revealed', icon: IconLockOpen },
  'observation.signed': { word: 'observation signed', icon: IconEyeCheck },
  'pack.deposited': { word: 'pack deposited', icon: IconBuildingBank },
};

/** The page of an entry's subject, if there is one. */
function subjectUrl({ type, subject }: Pick<LedgerEntry, 'type' | 'subject'>): string | undefined {
  const id = /(?:^|[^a-z])((?:pk|st|so)_[0-9a-f]{20})/.exec(subject)?.[1];
  if (type === 'finding.sealed') return '/findings?state=sealed';
  if (type.startsWith('finding.')) return `/findings?state=all&q=${subject}`;
  if (id?.startsWith('pk_')) return `/packs/${id}`;
  if (id?.startsWith('st_')) return `/studies/${id}`;
  if (type === 'node.created') return `/nodes/${subject.split('/').map(encodeURIComponent).join('/')}`;
  if (type === 'event.recorded') {
    const event = /\d+$/.exec(subject)?.[0];
    if (event) return `/timeline/${event}`;
  }
  return id?.startsWith('so_') ? `/sources/${id}` : undefined;
}

/**
 * A short name for an entry's subject. An event has only its number; retrievals have the first and the last one; a peer
 * has the name in its key.
 */
function subjectLabel({ type, subject }: Pick<LedgerEntry, 'type' | 'subject'>): string {
  if (type === 'event.recorded' && /^\d+$/.test(subject)) return `event ${subject}`;
  if (type === 'peer.rewritten') return subject.split('+', 1)[0] ?? subject;
  const [, first, last] = /^(\d+)-(\d+)$/.exec(subject) ?? [];
  if (type !== 'retrievals.recorded' || first === undefined) return subject;
  return first === last ? `retrieval ${first}` : `retrievals ${first} to ${last}`;
}
