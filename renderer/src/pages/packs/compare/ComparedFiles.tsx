import { Drawer, SegmentedControl } from '@mantine/core';
import { useMemo, useState } from 'react';
import {
  type ComparedFile,
  FILE_CHANGES,
  type FileChange,
  type PackComparison,
} from '../../../../../shared/archive/packComparison.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { FileTree } from '../../../components/data/tree/FileTree.tsx';
import filters from '../../../components/data/tree/TreeFilters.module.css';
import { SearchField } from '../../../components/forms/SearchField.tsx';
import { countOf, formatBytes, formatCount } from '../../../format/size.ts';
import { ComparedFileDiff } from './ComparedFileDiff.tsx';
import classes from './ComparedFiles.module.css';

type Item = ComparedFile & { key: string };
type Shown = FileChange | 'all' | 'changes';

/** The files of both packs as a tree. A changed file opens its differences. */
export function ComparedFiles({ comparison }: { comparison: PackComparison }) {
  const { files, counts, from, to } = comparison;
  const [shown, setShown] = useState<Shown>(hasChanges(counts) ? 'changes' : 'all');
  const [text, setText] = useState('');
  const [open, setOpen] = useState<ComparedFile>();
  const visible = useMemo(() => filtered(files, text, shown), [files, text, shown]);
  if (files.length === 0) return <p className="muted">Neither pack has files.</p>;
  return (
    <div className={filters.files}>
      <div className={filters.filters}>
        <div className={filters.search}>
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
    <button type="button" className={classes.open} onClick={onOpen}>
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
