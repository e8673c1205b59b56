import { Button } from '@mantine/core';
import { IconCircleCheck, IconPackageExport } from '@tabler/icons-react';
import type { Tag } from '../../../../shared/archive/vocabulary.ts';
import { MAX_PACK_BYTES, TERMS_VERSION } from '../../../../shared/limits.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { Meter } from '../../components/data/Meter.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobBar.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import type { Draft } from './draft.ts';
import type { Issue } from './draftRecord.ts';
import type { DraftFile } from './files/draftFile.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { jumpToField, usePackForm } from './formContext.ts';
import classes from './PublishPanel.module.css';
import { usePublication } from './publication.ts';
import { useIsDraftOpen } from './saving/draftSaving.ts';
import { SaveState } from './saving/SaveState.tsx';

/** How many open issues are listed at once. */
const MAX_LISTED = 8;

export interface LivePanelProps {
  issues: readonly Issue[];
  /** The fingerprint of the current record; undefined while the record is incomplete. */
  fingerprint: string | undefined;
  onPublish: () => void;
}

/** The state of the draft (size, tag, fingerprint, open issues) and the Publish button. */
export function PublishPanel({ issues, fingerprint, onPublish }: LivePanelProps) {
  const { draft } = usePackForm();
  const files = useDraftFiles((state) => state.files);
  const publication = usePublication((state) => state.publication);
  const isDraftOpen = useIsDraftOpen();
  return (
    <aside className={classes.panel} aria-label="Publish">
      <Size files={files} />
      <TagAndWhy draft={draft} />
      <div className={classes.part}>
        <h3>Fingerprint</h3>
        {fingerprint ? (
          <p>
            <DigestChip digest={fingerprint} label="fingerprint" />
          </p>
        ) : (
          <p className={classes.quiet}>Computed when the record is complete.</p>
        )}
      </div>
      {publication.state !== 'running' && isDraftOpen && <Missing issues={issues} />}
      {publication.state === 'failed' && <ErrorNote error={publication.error} />}
      {publication.state === 'running' ? (
        <JobBar title="Publishing" unit="bytes" {...publication} onCancel={publication.cancel} />
      ) : (
        <Button
          fullWidth
          size="md"
          className={classes.publish}
          disabled={!isDraftOpen}
          onClick={onPublish}
          leftSection={<IconPackageExport size={19} aria-hidden />}
        >
          Publish
        </Button>
      )}
      <p className={classes.quiet} id="field/terms_version" tabIndex={-1}>
        By publishing you accept the terms of {TERMS_VERSION}: you have the right to publish these files under
        this licence. A published pack is recorded permanently and cannot be withdrawn.
      </p>
      <SaveState isFailureShown={publication.state === 'failed'} />
    </aside>
  );
}

function Size({ files }: { files: readonly DraftFile[] }) {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const isOver = bytes > MAX_PACK_BYTES;
  return (
    <div className={classes.part}>
      <h3>Size</h3>
      <Meter label="Total file size and the pack limit" value={bytes} max={MAX_PACK_BYTES} isOver={isOver} />
      <p className="numeric" data-over={isOver || undefined}>
        {formatBytes(bytes)} of {formatBytes(MAX_PACK_BYTES)}, {countOf(files.length, 'file')}
      </p>
      <p className={`${classes.quiet} numeric`}>
        {formatCount(bytes)} of {formatCount(MAX_PACK_BYTES)} bytes
        {isOver && `: ${formatCount(bytes - MAX_PACK_BYTES)} over the limit`}
      </p>
    </div>
  );
}

function TagAndWhy({ draft }: { draft: Draft }) {
  const { tag, why } = tagAndWhy(draft);
  return (
    <div className={classes.part}>
      <h3>Tag</h3>
      {tag && (
        <p>
          <StateBadge kind="tag" value={tag} look="boxed" />
        </p>
      )}
      <p className={classes.quiet}>{why}</p>
    </div>
  );
}

function tagAndWhy({ hasMethod, method }: Draft): { tag?: Tag; why: string } {
  const isGiven = hasMethod && (method.text.trim() !== '' || method.link.trim() !== '');
  if (!isGiven) {
    return { tag: 'report-only', why: 'The pack has no method, so it cannot be reproduced.' };
  }
  if (method.complete === null) {
    return { why: 'Replicable or report-only: state whether the method is complete.' };
  }
  if (!method.complete) {
    return { tag: 'report-only', why: 'You state that the method is not complete.' };
  }
  return { tag: 'replicable', why: 'You state that the method is complete.' };
}

function Missing({ issues }: { issues: readonly Issue[] }) {
  if (issues.length === 0) {
    return (
      <p className={classes.ready}>
        <IconCircleCheck size={18} aria-hidden /> Ready to publish
      </p>
    );
  }
  return (
    <div className={classes.part}>
      <h3>To do before publishing</h3>
      <ul className={classes.missing}>
        {issues.slice(0, MAX_LISTED).map(({ field, message }) => (
          <li key={field + message}>
            <button type="button" onClick={() => jumpToField(field)}>
              {message}
            </button>
          </li>
        ))}
      </ul>
      {issues.length > MAX_LISTED && (
        <p className={classes.quiet}>{countOf(issues.length - MAX_LISTED, 'more item')}</p>
      )}
    </div>
  );
}
