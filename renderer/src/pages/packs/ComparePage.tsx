import { Button, Drawer, SegmentedControl } from '@mantine/core';
import { IconArrowsExchange } from '@tabler/icons-react';
import { diffArrays } from 'diff';
import { useMemo, useState } from 'react';
import { Link, useParams } from 'react-router';
import {
  type ChangedField,
  type ComparedFile,
  type ComparedPack,
  FILE_CHANGES,
  type FileChange,
  type PackComparison,
} from '../../../../shared/archive/packComparison.ts';
import { SET_FILE } from '../../../../shared/archive/setManifest.ts';
import { wordTokens } from '../../../../shared/collection/derived.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { FileTree } from '../../components/data/FileTree.tsx';
import { DigestChip, StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote, NotShown } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/filters.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes, formatCount, relationLabel } from '../../format.ts';
import { useHidden } from '../../state/withheld.ts';
import { DiffContent } from '../timeline/EventDiff.tsx';
import { PackLink } from './PackHeader.tsx';
import classes from './packs.module.css';

/** The differences between two packs, usually two versions of one. */
export default function ComparePage() {
  const { id = '', other = '' } = useParams();
  const compared = useCall('comparePacks', { params: { id }, query: { with: other } });
  return (
    <Page
      title="Compare versions"
      lead={compared.data && summaryOf(compared.data)}
      actions={
        <Button
          component={Link}
          to={`/packs/${other}/compare/${id}`}
          variant="default"
          leftSection={<IconArrowsExchange size={17} aria-hidden />}
        >
          Swap
        </Button>
      }
    >
      {compared.error && <ErrorNote error={compared.error} onRetry={() => void compared.refetch()} />}
      {!compared.data && !compared.error && <p className="muted">Comparing…</p>}
      {compared.data && (
        <>
          <div className={`${classes.sides} mb-6 stack gap-4`}>
            <Side label="Before" pack={compared.data.from} />
            <Side label="After" pack={compared.data.to} />
          </div>
          <Section title="Record">
            <ComparedRecord fields={compared.data.record} />
          </Section>
          <Section title="Files">
            <ComparedFiles comparison={compared.data} />
          </Section>
        </>
      )}
    </Page>
  );
}

function Side({ label, pack }: { label: string; pack: ComparedPack }) {
  return (
    <div className="card">
      <p className="muted small">{label}</p>
      <p className="large serif wrap-anywhere">
        <Link to={`/packs/${pack.id}`}>{pack.title}</Link>
      </p>
      <p className="mt-2 cluster gap-3">
        <strong>Version {pack.version}</strong>
        <span className="muted small">
          received <TimeText at={pack.received_at} />
        </span>
        <DigestChip digest={pack.digest} label="fingerprint" />
      </p>
    </div>
  );
}

function summaryOf({ record, counts }: PackComparison): string {
  const { added, changed, removed } = counts;
  const fields =
    record.length === 0 ? 'The record is the same' : `${countOf(record.length, 'field')} changed`;
  const files =
    added + changed + removed === 0
      ? 'all files are the same'
      : `files: ${added} added, ${changed} changed, ${removed} removed`;
  return `${fields}; ${files}.`;
}

/** Longer comparisons are shown as a whole. */
const COMPARE_MS = 300;

/** The fields of the record that differ, word by word. */
function ComparedRecord({ fields }: { fields: readonly ChangedField[] }) {
  if (fields.length === 0) return <p className="muted">The record is the same in both versions.</p>;
  return (
    <dl className={`${classes.fields} stack gap-4`}>
      {fields.map(({ field, before, after }) => (
        <div key={field}>
          <dt>{fieldLabel(field)}</dt>
          <dd>
            {field === 'supersedes' ? (
              <PackChange before={before} after={after} />
            ) : (
              <TextChange before={recordText(field, before)} after={recordText(field, after)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function PackChange({ before, after }: Pick<ChangedField, 'before' | 'after'>) {
  return (
    <>
      {typeof before === 'string' && (
        <del>
          <PackLink id={before} />
        </del>
      )}{' '}
      {typeof after === 'string' && (
        <ins>
          <PackLink id={after} />
        </ins>
      )}
    </>
  );
}

function TextChange({ before, after }: { before: string; after: string }) {
  const parts = useMemo(
    () => diffArrays(wordTokens(before), wordTokens(after), { timeout: COMPARE_MS }),
    [before, after],
  );
  if (!parts) {
    return (
      <>
        <del>{before}</del> <ins>{after}</ins>
      </>
    );
  }
  return parts.map(({ value, added, removed }, index) => {
    // Parts have no identity, and their order is fixed.
    const text = value.join('');
    if (added) return <ins key={index}>{text}</ins>;
    if (removed) return <del key={index}>{text}</del>;
    return <span key={index}>{text}</span>;
  });
}

type Json = ChangedField['before'];

/** The fields of a record, as the pack's page names them. */
const LABELS: Readonly<Record<string, string>> = {
  pack_format: 'Pack format',
  terms_version: 'Terms',
  title: 'Title',
  summary: 'Summary',
  authors: 'Authors',
  license: 'Licence',
  outcome: 'Outcome',
  method: 'Method',
  results: 'Results',
  keywords: 'Keywords',
  node: 'Subject',
  study: 'Study',
  replicates: 'Replication',
  supersedes: 'New version of',
  related: 'Related works',
};

function fieldLabel(field: string): string {
  return LABELS[field] ?? field;
}

/** A value of a record as lines that a person reads: one per author, keyword or result. Empty for null. */
function recordText(field: string, value: Json): string {
  if (field === 'related' && Array.isArray(value)) return value.map(relatedLine).join('\n');
  return textOf(value);
}

function relatedLine(value: Json): string {
  const { relation, identifier } = value as { relation: string; identifier: string };
  return `${relationLabel(relation)} ${identifier}`;
}

function textOf(value: Json): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.map(lineOf).join('\n');
  if (typeof value === 'object') {
    return Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== '')
      .map(([name, inner]) => `${name}: ${lineOf(inner)}`)
      .join('\n');
  }
  return String(value);
}

function lineOf(value: Json): string {
  if (value === null || typeof value !== 'object') return String(value);
  return Object.values(value)
    .filter((inner) => inner !== null && inner !== '')
    .map((inner) => (typeof inner === 'object' ? JSON.stringify(inner) : String(inner)))
    .join(', ');
}

type Item = ComparedFile & { key: string };
type Shown = FileChange | 'all' | 'changes';

/** The files of both packs as a tree. A changed file opens its differences. */
function ComparedFiles({ comparison }: { comparison: PackComparison }) {
  const { files, counts, from, to } = comparison;
  const [shown, setShown] = useState<Shown>(hasChanges(counts) ? 'changes' : 'all');
  const [text, setText] = useState('');
  const [open, setOpen] = useState<ComparedFile>();
  const visible = useMemo(() => filtered(files, text, shown), [files, text, shown]);
  if (files.length === 0) return <p className="muted">Neither pack has files.</p>;
  if (files.length === 1 && files[0]?.path === SET_FILE)
    return (
      <p className="muted measure">
        These are sets of packs. Their files are not compared one by one: only the record and the list of
        files are. {hasChanges(counts) ? 'The lists differ.' : 'The lists are the same.'}
      </p>
    );
  return (
    <div className="stack gap-3">
      <div className="cluster gap-2">
        <div className="grow">
          <SearchField label="Filter files" value={text} onChange={setText} />
        </div>
        <ShownFilter counts={counts} value={shown} onChange={setShown} />
      </div>
      {visible.length === 0 ? (
        <p className="muted">No file matches the filter.</p>
      ) : (
        <FileTree
          // A new filter starts at the top, with all folders open.
          key={`${shown} ${text}`}
          label="Compared files"
          items={visible}
          name={(item, name) => (
            <FileName name={name} onOpen={canDiff(item) ? () => setOpen(item) : undefined} />
          )}
          onKey={(event, item) => {
            if (event.key === 'Enter' && canDiff(item)) setOpen(item);
          }}
          cells={(item) => (
            <>
              <span className="muted small numeric">{sizeChange(item)}</span>
              <span className={classes.change}>
                <StateBadge kind="fileChange" value={item.change} />
              </span>
            </>
          )}
          folderCells={(inside) => <span className="muted small">{countOf(inside.length, 'file')}</span>}
        />
      )}
      <Drawer
        opened={open !== undefined}
        onClose={() => setOpen(undefined)}
        position="right"
        size="min(64rem, 94vw)"
        title={<span className="mono wrap-anywhere">{open?.path}</span>}
      >
        {open && <ComparedFileDiff from={from.id} to={to.id} file={open} />}
      </Drawer>
    </div>
  );
}

interface ShownFilterProps {
  counts: PackComparison['counts'];
  value: Shown;
  onChange: (shown: Shown) => void;
}

function ShownFilter({ counts, value, onChange }: ShownFilterProps) {
  return (
    <SegmentedControl
      size="xs"
      className={classes.changes}
      aria-label="Show files that are"
      value={value}
      onChange={(next) => onChange(next as Shown)}
      data={[
        { value: 'changes', label: 'Differences', disabled: !hasChanges(counts) },
        ...FILE_CHANGES.filter((change) => counts[change] > 0).map((change) => ({
          value: change,
          label: `${formatCount(counts[change])} ${change}`,
        })),
        { value: 'all', label: 'All' },
      ]}
    />
  );
}

function hasChanges({ added, changed, removed }: PackComparison['counts']): boolean {
  return added + changed + removed > 0;
}

function FileName({ name, onOpen }: { name: string; onOpen: (() => void) | undefined }) {
  if (!onOpen) return <span className="mono wrap-anywhere">{name}</span>;
  return (
    <button type="button" className="bare accent wrap-anywhere" onClick={onOpen}>
      <span className="mono">{name}</span>
    </button>
  );
}

function canDiff({ before, after }: ComparedFile): boolean {
  return before !== null && after !== null && before.sha256 !== after.sha256;
}

function filtered(files: readonly ComparedFile[], text: string, shown: Shown): Item[] {
  const words = text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return files
    .filter(({ path, change }) => {
      const isShown = shown === 'all' || (shown === 'changes' ? change !== 'same' : change === shown);
      const folded = path.toLocaleLowerCase();
      return isShown && words.every((word) => folded.includes(word));
    })
    .map((file) => ({ ...file, key: file.path }));
}

function sizeChange({ before, after }: ComparedFile): string {
  if (before && after && before.sha256 === after.sha256 && before.media_type !== after.media_type) {
    return `${before.media_type} → ${after.media_type}`;
  }
  if (before && after && before.bytes !== after.bytes) {
    return `${formatBytes(before.bytes)} → ${formatBytes(after.bytes)}`;
  }
  return formatBytes((after ?? before)?.bytes ?? 0);
}

interface ComparedFileDiffProps {
  from: string;
  to: string;
  file: ComparedFile;
}

/** The differences between the two versions of a file. They are computed on request, which may take a moment. */
function ComparedFileDiff({ from, to, file: { path, before, after } }: ComparedFileDiffProps) {
  const input = { params: { id: from }, query: { with: to, path } };
  const hidden = useHidden(...[before, after].flatMap((file) => (file ? [{ sha256: file.sha256 }] : [])));
  const { data: diff, error, refetch } = useCall('comparePackFiles', input, { enabled: hidden === null });
  const name = path.split('/').at(-1);
  if (hidden) return <NotShown {...hidden} />;
  return (
    <div className="stack gap-3">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!diff && !error && <output className="muted">Comparing the two versions…</output>}
      {diff && <DiffContent diff={diff} />}
      <p className="cluster gap-4 stretch small muted">
        {before && (
          <a href={urlOf('readBlob', { params: { sha256: before.sha256 } })} download={name}>
            Download the older file
          </a>
        )}
        {after && (
          <a href={urlOf('readBlob', { params: { sha256: after.sha256 } })} download={name}>
            Download the newer file
          </a>
        )}
        <a href={urlOf('comparePackFiles', input)} target="_blank" rel="noopener noreferrer">
          View as JSON
        </a>
      </p>
    </div>
  );
}
