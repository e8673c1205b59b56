import { Button } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconClock,
  IconFiles,
  IconFileUnknown,
  IconFolder,
  IconShieldX,
  IconTrash,
  type TablerIcon,
} from '@tabler/icons-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'react-router';
import { create } from 'zustand';
import { shownPath } from '../../../../shared/proof/words.ts';
import { DigestChip } from '../../components/data/Values.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobsTray.tsx';
import { IconButton, saveFile } from '../../components/forms/buttons.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { type PathFile, readChosen, readDropped } from '../../droppedFiles.ts';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import { useSession } from '../../state/session.ts';
import {
  type CheckpointNote,
  type CheckpointResult,
  checkpointWords,
  countVerdicts,
  type DroppedList,
  type FileResult,
  REPORT_TYPES,
  type ReportFormat,
  type ReportSubject,
  reportText,
  VERDICT_ORDER,
  VERDICT_WORDS,
  type Verdict,
  verdictOf,
} from './fileResults.ts';
import classes from './VerifyPage.module.css';
import { emptyVerification, VerificationRun, type VerificationState } from './verificationRun.ts';

interface Verification extends VerificationState {
  /** Loads the workers, so that nothing has to be loaded when files are dropped. */
  prepare: () => void;
  add: (files: readonly PathFile[]) => Promise<void>;
  clear: () => void;
}

/** What is dropped on the page stays there while other pages are visited. Nothing is sent but digests. */
const useVerification = create<Verification>()((set) => {
  let run = new VerificationRun(set);
  return {
    ...emptyVerification(),
    // An effect calls it, and React would take a result for a clean-up function when the page is left.
    prepare: () => {
      run.prepare();
    },
    add: (files) => run.add(files),
    clear: () => {
      run.close();
      run = new VerificationRun(set);
      run.prepare();
      set(emptyVerification());
    },
  };
});

/** Verifies files without uploading them: hashed here, then found in dropped lists and in the archive. */
export default function VerifyPage() {
  const { results, version, lists, checkpoints, progress, isOffline, prepare, add, clear } =
    useVerification();
  const node = useSession((state) => state.session?.node ?? '');
  useEffect(prepare, [prepare]);
  const { isOver, isReading, hasFailed } = useDroppedFiles((files) => void add(files));
  const subject = { results, checkpoints, node };
  const isEmpty = results.length === 0 && lists.length === 0 && checkpoints.length === 0;
  return (
    <Page
      title="Verify"
      lead="Files are hashed in this browser and compared with the archive and with the lists you drop. Nothing is uploaded."
      actions={
        <>
          <FileButton label="Choose files" onFiles={(files) => void add(files)} />
          <FileButton label="Choose a folder" isFolder onFiles={(files) => void add(files)} />
          {!isEmpty && (
            <IconButton icon={IconTrash} onClick={clear}>
              Clear
            </IconButton>
          )}
        </>
      }
    >
      {isOver && (
        <div className={classes.overlay} aria-hidden>
          <p>Drop to verify</p>
        </div>
      )}
      {hasFailed && (
        <p className={classes.note} role="alert">
          Something that was dropped cannot be read, so none of it was added. Choose the files with the
          buttons above.
        </p>
      )}
      {isReading && <output className={classes.note}>The dropped folders are being read…</output>}
      {isEmpty && !isReading && (
        <EmptyState title="Drop files or folders here">
          Also lists (SHA256SUMS, BSD, hashdeep, BagIt manifests), pack files, checkpoints and .tlog-proof
          files. Once this page is open, it works without a network.
        </EmptyState>
      )}
      {progress && (
        <JobBar
          title={`Hashing ${formatCount(results.length)} files`}
          done={progress.bytes}
          total={progress.totalBytes}
          unit="bytes"
          rate={progress.rate}
          onCancel={clear}
        />
      )}
      {isOffline && (
        <output className={classes.note}>
          The node cannot be reached. Files are hashed and compared with your lists; look-ups in the archive
          are pending until it is back.
        </output>
      )}
      {lists.length > 0 && <DroppedLists lists={lists} />}
      {checkpoints.length > 0 && <Checkpoints subject={subject} />}
      {results.length > 0 && <VerifiedFiles subject={subject} version={version} />}
    </Page>
  );
}

function DroppedLists({ lists }: { lists: readonly DroppedList[] }) {
  return (
    <ul className={`${classes.lists} plain`} aria-label="Lists">
      {lists.map(({ path, entries, faults }, index) => (
        // A list may be dropped twice; none is ever removed by itself.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <li key={index}>
          <span className="mono wrap-anywhere">{shownPath(path)}</span>: {countOf(entries.length, 'digest')}
          {faults.length > 0 && `, ${countOf(faults.length, 'unreadable line')}`}
        </li>
      ))}
    </ul>
  );
}

/** The report is saved here if there are no files. */
function Checkpoints({ subject }: { subject: Omit<ReportSubject, 'at'> }) {
  return (
    <Section
      title="Checkpoints and proofs"
      actions={subject.results.length === 0 && <SaveReport {...subject} />}
    >
      <ul className={`${classes.lists} ${classes.checkpoints} plain`}>
        {subject.checkpoints.map(({ key, note, result }) => (
          <li key={key}>
            <CheckpointRow note={note} result={result} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** A button that opens the browser's dialog for files or for a folder. */
function FileButton({
  label,
  isFolder = false,
  onFiles,
}: {
  label: string;
  isFolder?: boolean;
  onFiles: (files: PathFile[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const Icon = isFolder ? IconFolder : IconFiles;
  useEffect(() => {
    if (isFolder) input.current?.setAttribute('webkitdirectory', '');
  }, [isFolder]);
  return (
    <>
      <Button
        variant={isFolder ? 'default' : 'filled'}
        leftSection={<Icon size={16} aria-hidden />}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={label}
        onChange={(event) => {
          onFiles(readChosen(event.currentTarget.files));
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

/**
 * Accepts files and folders dropped anywhere on the page. Returns whether some are being dragged over it, and whether
 * the browser still reads dropped folders.
 */
function useDroppedFiles(onFiles: (files: PathFile[]) => void): {
  isOver: boolean;
  isReading: boolean;
  hasFailed: boolean;
} {
  const [isOver, setIsOver] = useState(false);
  const [hasFailed, setHasFailed] = useState(false);
  const [reading, setReading] = useState(0);
  const latest = useRef(onFiles);
  useEffect(() => {
    latest.current = onFiles;
  });
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false);
    };
    const drop = (event: DragEvent) => {
      setIsOver(false);
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setReading((count) => count + 1);
      setHasFailed(false);
      void readDropped(event.dataTransfer)
        .then(
          (files) => latest.current(files),
          // The browser says no more than that it cannot read an entry.
          () => setHasFailed(true),
        )
        .finally(() => setReading((count) => count - 1));
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return { isOver, isReading: reading > 0, hasFailed };
}

interface VerifiedFilesProps {
  subject: Omit<ReportSubject, 'at'>;
  /** Changes with the results, whose array stays the same while files are hashed. */
  version: number;
}

/** The dropped files with their verdicts, and a filter. */
function VerifiedFiles({ subject, version }: VerifiedFilesProps) {
  const { results } = subject;
  const [only, setOnly] = useState<Verdict>();
  // oxlint-disable-next-line react/exhaustive-deps -- see `version`
  const shown = useMemo(() => inOrder(results, only), [results, version, only]);
  // oxlint-disable-next-line react/exhaustive-deps -- see `version`
  const counts = useMemo(() => countVerdicts(results), [results, version]);
  const filter = (verdict: Verdict | undefined, label: string) => (
    <Button
      key={label}
      size="compact-sm"
      variant={only === verdict ? 'filled' : 'default'}
      aria-pressed={only === verdict}
      onClick={() => setOnly(only === verdict ? undefined : verdict)}
    >
      {label}
    </Button>
  );
  return (
    <Section title="Files" actions={<SaveReport {...subject} />}>
      <fieldset className="mb-3 cluster gap-2 stretch">
        <legend className="visually-hidden">Show</legend>
        {filter(undefined, `All ${formatCount(results.length)}`)}
        {VERDICT_ORDER.filter((verdict) => counts[verdict] > 0).map((verdict) =>
          filter(verdict, `${VERDICT_WORDS[verdict]} ${formatCount(counts[verdict])}`),
        )}
      </fieldset>
      <VirtualList
        label="Verified files"
        items={shown}
        keyOf={({ key }) => String(key)}
        render={(result) => <FileResultRow result={result} />}
      />
    </Section>
  );
}

/** What needs attention comes first. */
function inOrder(results: readonly FileResult[], only: Verdict | undefined): FileResult[] {
  if (only) return results.filter(({ verdict }) => verdict === only);
  const byVerdict = new Map<Verdict, FileResult[]>(VERDICT_ORDER.map((verdict) => [verdict, []]));
  for (const result of results) byVerdict.get(result.verdict)?.push(result);
  return [...byVerdict.values()].flat();
}

const ICONS: Record<Verdict, TablerIcon> = {
  waiting: IconCircleDashed,
  intact: IconCircleCheck,
  changed: IconShieldX,
  altered: IconShieldX,
  unsigned: IconAlertTriangle,
  unproven: IconFileUnknown,
  in_archive: IconCircleCheck,
  unknown: IconFileUnknown,
  pending: IconClock,
  missing: IconFileUnknown,
  unreadable: IconAlertTriangle,
};

/** One file: the verdict, its path, its digest and where the archive has it. */
function FileResultRow({ result }: { result: FileResult }) {
  const { path, bytes, sha256, expected, list, proof, verdict, found, error } = result;
  const Icon = ICONS[verdict];
  return (
    <div className={`${classes.row} grid gap-4`}>
      <span className={`${classes.verdict} line gap-2 strong`} data-verdict={verdict}>
        <Icon size={16} stroke={1.8} aria-hidden /> {VERDICT_WORDS[verdict]}
      </span>
      <span className="stack gap-1">
        <span className="wrap-anywhere">{shownPath(path)}</span>
        <span className="cluster gap-4 muted small">
          {bytes !== null && <span>{formatBytes(bytes)}</span>}
          {sha256 && <DigestChip digest={sha256} label="digest of the file" />}
          {verdict === 'changed' && expected && (
            <span>
              expected <DigestChip digest={expected} label="expected digest" />
            </span>
          )}
          {list && <span>according to {list}</span>}
          {proof && <span className="wrap-anywhere">{proof.words}</span>}
          {found?.pack && <Link to={`/packs/${found.pack.id}`}>pack file {found.pack.path}</Link>}
          {found?.source && <Link to={`/sources/${found.source.id}`}>{found.source.url}</Link>}
          {error && <span>{error}</span>}
        </span>
      </span>
    </div>
  );
}

/** A dropped checkpoint or proof, and whether this node signed it and its ledger begins with it. */
function CheckpointRow({ note, result }: { note: CheckpointNote; result: CheckpointResult }) {
  const { path, saved, proof } = note;
  return (
    <div>
      <p className={`${classes.verdict} line gap-2 strong`} data-verdict={verdictOf(note, result)}>
        {checkpointWords(note, result)}
      </p>
      <p className="cluster gap-4 muted small">
        <span className="wrap-anywhere">{shownPath(path)}</span>
        <span>
          {proof ? `proof of entry ${formatCount(proof.index + 1)}` : 'checkpoint'} of {saved.origin} with{' '}
          {countOf(saved.seq, 'entry', 'entries')}
        </span>
      </p>
    </div>
  );
}

/** Buttons that save a report of the verification in each format. */
function SaveReport(subject: Omit<ReportSubject, 'at'>) {
  return (
    <span className="cluster inline gap-2">
      <span className="muted small">Save report</span>
      {(['txt', 'csv', 'json'] as const).map((format) => (
        <Button key={format} size="compact-sm" variant="default" onClick={() => saveReport(subject, format)}>
          {format === 'txt' ? 'Text' : format.toUpperCase()}
        </Button>
      ))}
    </span>
  );
}

function saveReport(subject: Omit<ReportSubject, 'at'>, format: ReportFormat): void {
  const at = new Date().toISOString();
  saveFile(
    `verification-${at.slice(0, 10)}.${format}`,
    reportText(format, { ...subject, at }),
    REPORT_TYPES[format],
  );
}
