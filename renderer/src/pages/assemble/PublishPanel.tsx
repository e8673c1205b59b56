import { Button, Group } from '@mantine/core';
import { IconCircleCheck, IconPackageExport } from '@tabler/icons-react';
import { useMemo } from 'react';
import { planSet } from '../../../../shared/archive/setManifest.ts';
import type { Tag } from '../../../../shared/archive/vocabulary.ts';
import { MAX_PACK_BYTES, TERMS_VERSION } from '../../../../shared/limits.ts';
import { DigestChip, Meter, StateBadge } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobsTray.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import classes from './assemble.module.css';
import type { Draft } from './draft.ts';
import { bytesOf, type Issue, isSet } from './draftRecord.ts';
import { draftSession } from './draftSession.ts';
import { useDraft } from './draftStore.ts';
import type { DraftFile } from './files/draftFile.ts';
import { jumpToField, useIsDraftOpen, usePackForm, useSetBytes } from './packForm.ts';

/** How many open issues are listed at once. */
const MAX_LISTED = 8;

interface LivePanelProps {
  issues: readonly Issue[];
  /** The fingerprint of the current record; undefined while the record is incomplete. */
  fingerprint: string | undefined;
  onPublish: () => void;
}

/** The state of the draft (size, tag, fingerprint, open issues) and the Publish button. */
export function PublishPanel({ issues, fingerprint, onPublish }: LivePanelProps) {
  const { draft } = usePackForm();
  const files = useDraft((state) => state.files);
  const publication = useDraft((state) => state.publication);
  const isDraftOpen = useIsDraftOpen();
  const isOfSet = isSet(files, useSetBytes());
  return (
    <aside className={`${classes.panel} sheet stack gap-4 scroll`} aria-label="Publish">
      <Size files={files} />
      <TagAndWhy draft={draft} />
      <div className={`${classes.part} stack gap-1`}>
        <h3>Fingerprint</h3>
        {fingerprint ? (
          <p>
            <DigestChip digest={fingerprint} label="fingerprint" />
          </p>
        ) : (
          <p className="small muted">
            {isOfSet
              ? 'Computed by the node when the set is published.'
              : 'Computed when the record is complete.'}
          </p>
        )}
      </div>
      {publication.state !== 'running' && isDraftOpen && <Missing issues={issues} />}
      {publication.state === 'failed' && <ErrorNote error={publication.error} />}
      {publication.state === 'failed' && isOfSet && (
        <p className="small muted">
          Publish again to go on after the packs that are finished. {FINISHED_ARE_PUBLIC}
        </p>
      )}
      {publication.state === 'idle' && publication.isCancelled && isOfSet && (
        <p className="small muted">
          Cancelled. Publish again to go on after the packs that are finished. {FINISHED_ARE_PUBLIC}
        </p>
      )}
      {publication.state === 'running' ? (
        <>
          <JobBar title="Publishing" unit="bytes" {...publication} onCancel={publication.cancel} />
          {isOfSet && <p className="small muted">It goes on if you leave or close this page.</p>}
        </>
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
      <p className="small muted" id="field/terms_version" tabIndex={-1}>
        By publishing, you accept the terms of {TERMS_VERSION}: you have the right to publish these files
        under this licence. A published pack is recorded permanently and cannot be withdrawn.
      </p>
      <SaveState isFailureShown={publication.state === 'failed'} />
    </aside>
  );
}

const FINISHED_ARE_PUBLIC = 'They are public already, and stay if the draft is deleted.';

function Size({ files }: { files: readonly DraftFile[] }) {
  const setBytes = useSetBytes();
  const bytes = bytesOf(files);
  const isOfSet = isSet(files, setBytes);
  const limit = isOfSet ? setBytes : MAX_PACK_BYTES;
  const isOver = bytes > limit;
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>Size</h3>
      <Meter
        label={`Total file size and the limit of a ${isOfSet ? 'set' : 'pack'}`}
        value={bytes}
        max={limit}
        isOver={isOver}
      />
      <p className="numeric" data-over={isOver || undefined}>
        {formatBytes(bytes)} of {formatBytes(limit)}, {countOf(files.length, 'file')}
      </p>
      <p className="small muted numeric">
        {formatCount(bytes)} of {formatCount(limit)} bytes
        {isOver && `: ${formatCount(bytes - limit)} over the limit`}
      </p>
      {isOfSet && <SetNotice files={files} />}
      {setBytes === 0 && isOver && (
        <p className="small">Only the owner of this node can publish more: as a set of packs.</p>
      )}
    </div>
  );
}

/** Says that a draft becomes a set, and of how many packs. */
function SetNotice({ files }: { files: readonly DraftFile[] }) {
  const packs = useMemo(() => planSet(files).length, [files]);
  return (
    <output className="small">
      This is more than one pack can have, so it will be published as a{' '}
      <strong>set of {countOf(packs, 'pack')}</strong> with one page, one citation and one download. You need
      not do anything else.
    </output>
  );
}

function TagAndWhy({ draft }: { draft: Draft }) {
  const { tag, why } = tagAndWhy(draft);
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>Tag</h3>
      {tag && (
        <p>
          <StateBadge kind="tag" value={tag} look="boxed" />
        </p>
      )}
      <p className="small muted">{why}</p>
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
      <p className="line gap-2 strong good">
        <IconCircleCheck size={18} aria-hidden /> Ready to publish
      </p>
    );
  }
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>To do before publishing</h3>
      <ul className={`${classes.missing} plain`}>
        {issues.slice(0, MAX_LISTED).map(({ field, message }) => (
          <li key={field + message}>
            <button type="button" onClick={() => jumpToField(field)}>
              {message}
            </button>
          </li>
        ))}
      </ul>
      {issues.length > MAX_LISTED && (
        <p className="small muted">{countOf(issues.length - MAX_LISTED, 'more item')}</p>
      )}
    </div>
  );
}

/** Says where the draft is saved, and why it is not, unless that is shown already as the failure of publishing. */
function SaveState({ isFailureShown }: { isFailureShown: boolean }) {
  const saving = useDraft((state) => state.saving);
  const hasDraft = useDraft(({ saved }) => saved !== undefined);
  const isUnsaved = useDraft((state) => state.isUnsaved);
  const waiting = useDraft(({ files }) => files.filter(({ path, savedPath }) => path !== savedPath).length);
  switch (saving.state) {
    case 'local':
      return (
        <p className="small muted">
          {isUnsaved
            ? 'This browser cannot save the draft because its storage is full or disabled. Publish before you leave.'
            : 'The draft is saved in this browser as you type.'}
        </p>
      );
    case 'opening':
      return <p className="small muted">Opening the draft…</p>;
    case 'openFailed':
      return <ErrorNote error={saving.error} onRetry={() => void draftSession.start()} />;
    case 'failed':
      if (isFailureShown) return null;
      // A failure is shown here again.
      return <ErrorNote error={saving.error} onRetry={() => void draftSession.flush().catch(() => {})} />;
    case 'changed elsewhere':
      return (
        <div role="alert" className={`${classes.part} stack gap-1`}>
          <p>This draft was changed in another window. Your last changes here are not saved.</p>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => void draftSession.resolve('theirs')}>
              Show the other version
            </Button>
            <Button size="xs" variant="default" onClick={() => void draftSession.resolve('mine')}>
              Keep this version
            </Button>
          </Group>
        </div>
      );
    case 'saving':
      return <p className="small muted">Saving the draft…</p>;
    case 'saved':
      return (
        <p className="small muted">
          {!hasDraft && 'The draft is saved on this node as you type.'}
          {hasDraft && waiting === 0 && 'The draft is saved on this node.'}
          {hasDraft &&
            waiting > 0 &&
            `The draft is saved on this node, except ${countOf(waiting, 'file')} with a problem.`}
        </p>
      );
  }
}
