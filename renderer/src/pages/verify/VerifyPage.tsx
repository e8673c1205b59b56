import { Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useEffect } from 'react';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { JobBar } from '../../components/feedback/JobBar.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import { CheckpointRow } from './CheckpointRow.tsx';
import { FileButton } from './FileButton.tsx';
import type { DroppedList } from './fileResults.ts';
import type { ReportSubject } from './report.ts';
import { SaveReport } from './SaveReport.tsx';
import { useDroppedFiles } from './useDroppedFiles.ts';
import { VerifiedFiles } from './VerifiedFiles.tsx';
import classes from './VerifyPage.module.css';
import { useVerification } from './verification.ts';

/** Verifies files without uploading them: hashed here, then found in dropped lists and in the archive. */
export default function VerifyPage() {
  const { results, version, lists, checkpoints, progress, isOffline, prepare, add, clear } =
    useVerification();
  const node = useSession((state) => state.session?.node ?? '');
  useEffect(prepare, [prepare]);
  const { isOver, isReading } = useDroppedFiles((files) => void add(files));
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
            <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={clear}>
              Clear
            </Button>
          )}
        </>
      }
    >
      {isOver && (
        <div className={classes.overlay} aria-hidden>
          <p>Drop to verify</p>
        </div>
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
    <ul className={classes.lists} aria-label="Lists">
      {lists.map(({ path, entries, faults }) => (
        <li key={path}>
          <span className="mono wrap-anywhere">{path}</span>: {countOf(entries.length, 'digest')}
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
      <ul className={classes.checkpoints}>
        {subject.checkpoints.map(({ note, result }) => (
          <li key={note.path}>
            <CheckpointRow note={note} result={result} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
