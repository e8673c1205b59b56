import { Button, Checkbox } from '@mantine/core';
import { IconCircleCheck, IconPackageExport } from '@tabler/icons-react';
import { MAX_PACK_BYTES, TERMS_VERSION } from '../../../../shared/limits.ts';
import type { Tag } from '../../../../shared/vocabulary.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { Meter } from '../../components/data/Meter.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobBar.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import { jumpToField, useAssembly } from './assembly.ts';
import { type Draft, useDraft } from './draft.ts';
import type { Issue } from './draftRecord.ts';
import { type DraftFile, useDraftFiles } from './files/draftFiles.ts';
import classes from './LivePanel.module.css';
import { usePublication } from './publication.ts';

/** So many open points are listed; the others follow as these are settled. */
const MAX_LISTED = 8;

export interface LivePanelProps {
  issues: readonly Issue[];
  /** Of the record as it stands; undefined while something is missing. */
  fingerprint: string | undefined;
  onPublish: () => void;
}

/** What will come of the draft as it stands: size, tag, fingerprint, what is missing; and the way to publish it. */
export function LivePanel({ issues, fingerprint, onPublish }: LivePanelProps) {
  const { draft, change, errorOf } = useAssembly();
  const files = useDraftFiles((state) => state.files);
  const isUnsaved = useDraft((state) => state.isUnsaved);
  const publication = usePublication((state) => state.publication);
  return (
    <aside className={classes.panel} aria-label="What will be published">
      <Size files={files} />
      <TagAndWhy draft={draft} />
      <div className={classes.part}>
        <h3>Fingerprint</h3>
        {fingerprint ? (
          <p>
            <DigestChip digest={fingerprint} label="fingerprint" />
          </p>
        ) : (
          <p className={classes.quiet}>Computed once the record is complete.</p>
        )}
      </div>
      <Missing issues={issues} />
      <div className={classes.part}>
        <Checkbox
          id="field/terms_version"
          label={`I accept the terms of ${TERMS_VERSION}`}
          description="I may publish these files under this licence. What is published is recorded for good and cannot be taken back."
          checked={draft.acceptsTerms}
          error={errorOf('field/terms_version')}
          onChange={(event) => change({ acceptsTerms: event.currentTarget.checked })}
        />
      </div>
      {publication.state === 'failed' && <ErrorNote error={publication.error} />}
      {publication.state === 'running' ? (
        <JobBar title="Publishing" unit="bytes" {...publication} onCancel={publication.cancel} />
      ) : (
        <Button
          fullWidth
          size="md"
          className={classes.publish}
          onClick={onPublish}
          leftSection={<IconPackageExport size={19} aria-hidden />}
        >
          Publish to this node
        </Button>
      )}
      <p className={classes.quiet}>
        {isUnsaved
          ? 'This browser does not keep the draft: its storage is full or closed. Publish before you leave.'
          : 'The draft is kept in this browser as you type.'}
      </p>
    </aside>
  );
}

function Size({ files }: { files: readonly DraftFile[] }) {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const isOver = bytes > MAX_PACK_BYTES;
  return (
    <div className={classes.part}>
      <h3>Size</h3>
      <Meter
        label="Size of the files against the limit of a pack"
        value={bytes}
        max={MAX_PACK_BYTES}
        isOver={isOver}
      />
      <p className="numeric" data-over={isOver || undefined}>
        {formatBytes(bytes)} of {formatBytes(MAX_PACK_BYTES)}, {countOf(files.length, 'file')}
      </p>
      <p className={`${classes.quiet} numeric`}>
        {formatCount(bytes)} of {formatCount(MAX_PACK_BYTES)} bytes
        {isOver && `: ${formatCount(bytes - MAX_PACK_BYTES)} too many`}
      </p>
    </div>
  );
}

function TagAndWhy({ draft }: { draft: Draft }) {
  const { tag, why } = tagAndWhy(draft);
  return (
    <div className={classes.part}>
      <h3>Tag</h3>
      <p>
        <StateBadge kind="tag" value={tag} look="boxed" />
      </p>
      <p className={classes.quiet}>{why}</p>
    </div>
  );
}

function tagAndWhy({ hasMethod, method }: Draft): { tag: Tag; why: string } {
  const isGiven = hasMethod && (method.text.trim() !== '' || method.link.trim() !== '');
  if (!isGiven) {
    return { tag: 'report-only', why: 'No method is given, so nobody can run it again from this pack.' };
  }
  if (!method.complete) {
    return { tag: 'report-only', why: 'A method is given, but you do not claim that it is complete.' };
  }
  return { tag: 'replicable', why: 'A method is given, and you claim that it is complete.' };
}

function Missing({ issues }: { issues: readonly Issue[] }) {
  if (issues.length === 0) {
    return (
      <p className={classes.ready}>
        <IconCircleCheck size={18} aria-hidden /> Nothing is missing
      </p>
    );
  }
  return (
    <div className={classes.part}>
      <h3>Still missing</h3>
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
        <p className={classes.quiet}>{countOf(issues.length - MAX_LISTED, 'more point')}</p>
      )}
    </div>
  );
}
