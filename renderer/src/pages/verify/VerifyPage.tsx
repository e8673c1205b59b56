import { Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useEffect, useMemo, useState } from 'react';
import { saveFile } from '../../api/saveFile.ts';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { JobBar } from '../../components/feedback/JobBar.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import { CheckpointRow } from './CheckpointRow.tsx';
import { FileButton } from './FileButton.tsx';
import { FileResultRow } from './FileResultRow.tsx';
import { countVerdicts, type FileResult, VERDICT_ORDER, VERDICT_WORDS, type Verdict } from './fileResults.ts';
import { REPORT_TYPES, type ReportFormat, type ReportSubject, reportText } from './report.ts';
import { useDroppedFiles } from './useDroppedFiles.ts';
import classes from './VerifyPage.module.css';
import { useVerification } from './verification.ts';

/** Verifies files without uploading them: hashed here, then found in dropped lists and in the archive. */
export default function VerifyPage() {
  const { results, version, lists, checkpoints, progress, isOffline, prepare, add, clear } =
    useVerification();
  const node = useSession((state) => state.session?.node ?? '');
  useEffect(prepare, [prepare]);
  const [only, setOnly] = useState<Verdict>();
  const { isOver, isReading } = useDroppedFiles((files) => void add(files, node));
  // The array stays the same while files are hashed, so the version decides.
  // oxlint-disable-next-line react/exhaustive-deps
  const shown = useMemo(() => inOrder(results, only), [results, version, only]);
  // oxlint-disable-next-line react/exhaustive-deps
  const counts = useMemo(() => countVerdicts(results), [results, version]);
  const isEmpty = results.length === 0 && lists.length === 0 && checkpoints.length === 0;
  return (
    <Page
      title="Verify"
      lead="Files are hashed in this browser and compared with the archive and with the lists you drop. Nothing is uploaded."
      actions={
        <>
          <FileButton label="Choose files" onFiles={(files) => void add(files, node)} />
          <FileButton label="Choose a folder" isFolder onFiles={(files) => void add(files, node)} />
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
      {lists.length > 0 && (
        <ul className={classes.lists} aria-label="Lists">
          {lists.map(({ path, entries, faults }) => (
            <li key={path}>
              <span className="mono wrap-anywhere">{path}</span>: {countOf(entries.length, 'digest')}
              {faults.length > 0 && `, ${countOf(faults.length, 'unreadable line')}`}
            </li>
          ))}
        </ul>
      )}
      {checkpoints.length > 0 && (
        <Section
          title="Checkpoints and proofs"
          actions={
            results.length === 0 && <SaveReport results={results} checkpoints={checkpoints} node={node} />
          }
        >
          <ul className={classes.checkpoints}>
            {checkpoints.map(({ note, result }) => (
              <li key={note.path}>
                <CheckpointRow note={note} result={result} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {results.length > 0 && (
        <Section
          title="Files"
          actions={<SaveReport results={results} checkpoints={checkpoints} node={node} />}
        >
          <fieldset className={classes.filters}>
            <legend className={classes.legend}>Show</legend>
            <Button
              size="compact-sm"
              variant={only === undefined ? 'filled' : 'default'}
              aria-pressed={only === undefined}
              onClick={() => setOnly(undefined)}
            >
              All {formatCount(results.length)}
            </Button>
            {VERDICT_ORDER.filter((verdict) => counts[verdict] > 0).map((verdict) => (
              <Button
                key={verdict}
                size="compact-sm"
                variant={only === verdict ? 'filled' : 'default'}
                aria-pressed={only === verdict}
                onClick={() => setOnly(only === verdict ? undefined : verdict)}
              >
                {VERDICT_WORDS[verdict]} {formatCount(counts[verdict])}
              </Button>
            ))}
          </fieldset>
          <VirtualList
            label="Verified files"
            items={shown}
            keyOf={({ path, verdict }) => `${path} ${verdict === 'missing'}`}
            render={(result) => <FileResultRow result={result} />}
          />
        </Section>
      )}
    </Page>
  );
}

/** What needs attention comes first. */
function inOrder(results: readonly FileResult[], only: Verdict | undefined): FileResult[] {
  if (only) return results.filter(({ verdict }) => verdict === only);
  const byVerdict = new Map<Verdict, FileResult[]>(VERDICT_ORDER.map((verdict) => [verdict, []]));
  for (const result of results) byVerdict.get(result.verdict)?.push(result);
  return [...byVerdict.values()].flat();
}

function saveReport(subject: Omit<ReportSubject, 'at'>, format: ReportFormat): void {
  const at = new Date().toISOString();
  saveFile(
    `verification-${at.slice(0, 10)}.${format}`,
    reportText(format, { ...subject, at }),
    REPORT_TYPES[format],
  );
}

function SaveReport(subject: Omit<ReportSubject, 'at'>) {
  return (
    <span className={classes.save}>
      <span className="muted small">Save report</span>
      {(['txt', 'csv', 'json'] as const).map((format) => (
        <Button key={format} size="compact-sm" variant="default" onClick={() => saveReport(subject, format)}>
          {format === 'txt' ? 'Text' : format.toUpperCase()}
        </Button>
      ))}
    </span>
  );
}
