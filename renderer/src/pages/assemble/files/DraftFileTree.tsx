import { SegmentedControl } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { filePathFault } from '../../../../../shared/archive/filePath.ts';
import { FILE_CHANGES, type FileChange } from '../../../../../shared/archive/packComparison.ts';
import { FileTree } from '../../../components/data/tree/FileTree.tsx';
import classes from '../../../components/data/tree/TreeFilters.module.css';
import { SearchField } from '../../../components/forms/SearchField.tsx';
import { countOf, formatBytes, formatCount } from '../../../format/size.ts';
import { fieldId } from '../draftRecord.ts';
import { usePackForm } from '../formContext.ts';
import { useDraftFiles } from './draftFiles.ts';
import cellClasses from './FileCells.module.css';
import { FileCells, PathField } from './FileCells.tsx';
import { type FileItem, fileItems } from './fileChanges.ts';

/** A filter is offered for longer lists, and for versions. */
const FILTERED_FROM = 12;

/** The files of the draft as a tree; for a new version, compared with the previous one. */
export function DraftFileTree() {
  const { files, previous, remove, rename } = useDraftFiles();
  const { errorOf } = usePackForm();
  const [edited, setEdited] = useState<string>();
  const [text, setText] = useState('');
  const [shown, setShown] = useState<FileChange | 'all'>('all');
  const items = useMemo(() => fileItems(files, previous), [files, previous]);
  const visible = useMemo(() => filtered(items, text, shown), [items, text, shown]);
  const isVersion = previous.length > 0;

  const onKey = (event: KeyboardEvent, { key, file }: FileItem) => {
    if (!file) return;
    if (event.key === 'Delete') remove([file.id]);
    else if (event.key === 'Enter' || event.key === 'F2') setEdited(key);
    else return;
    event.preventDefault();
  };
  const onEdited = ({ key, path: before }: FileItem, path: string | undefined) => {
    setEdited(undefined);
    if (path !== undefined && path !== before) rename(new Map([[key, path]]));
  };
  return (
    <div className={classes.files}>
      {(isVersion || items.length > FILTERED_FROM) && (
        <div className={classes.filters}>
          <div className={classes.search}>
            <SearchField label="Filter files" value={text} onChange={setText} />
          </div>
          {isVersion && <ChangeFilter items={items} value={shown} onChange={setShown} />}
        </div>
      )}
      {visible.length === 0 ? (
        <p className="muted">No file matches the filter.</p>
      ) : (
        <FileTree
          // A new filter starts at the top, with all folders open.
          key={`${shown} ${text}`}
          label="Files of the pack"
          items={visible}
          idOf={({ file, key }) => fieldId('files', file?.id ?? key)}
          onKey={onKey}
          name={(item, name) => (
            <FileName item={item} name={name} isEdited={edited === item.key} onEdited={onEdited} />
          )}
          cells={(item) => (
            <FileCells item={item} isVersion={isVersion} onEditPath={() => setEdited(item.key)} />
          )}
          folderCells={(inside) => <FolderSummary items={inside} />}
          below={({ path, file }) =>
            file && (
              <FileFault fault={filePathFault(path) ?? file.error ?? errorOf(fieldId('files', file.id))} />
            )
          }
        />
      )}
    </div>
  );
}

function filtered(items: readonly FileItem[], text: string, shown: FileChange | 'all'): FileItem[] {
  const words = text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return items.filter(({ path, change }) => {
    const folded = path.toLocaleLowerCase();
    return (shown === 'all' || change === shown) && words.every((word) => folded.includes(word));
  });
}

interface FileNameProps {
  item: FileItem;
  name: string;
  isEdited: boolean;
  onEdited: (item: FileItem, path: string | undefined) => void;
}

function FileName({ item, name, isEdited, onEdited }: FileNameProps) {
  const { file, path } = item;
  if (isEdited && file) return <PathField path={path} onDone={(edited) => onEdited(item, edited)} />;
  return <span className={`mono wrap-anywhere ${file ? '' : cellClasses.removed}`}>{name}</span>;
}

interface ChangeFilterProps {
  items: readonly FileItem[];
  value: FileChange | 'all';
  onChange: (value: FileChange | 'all') => void;
}

function ChangeFilter({ items, value, onChange }: ChangeFilterProps) {
  const countOfChange = (change: FileChange) => items.filter((item) => item.change === change).length;
  const changes = FILE_CHANGES.map((change) => ({ change, count: countOfChange(change) }));
  return (
    <SegmentedControl
      size="xs"
      aria-label="Show files that are"
      value={value}
      onChange={(next) => onChange(next as FileChange | 'all')}
      data={[
        { value: 'all', label: 'All' },
        ...changes.map(({ change, count }) => ({
          value: change,
          label: `${formatCount(count)} ${change}`,
          disabled: count === 0 && change !== value,
        })),
      ]}
    />
  );
}

function FolderSummary({ items }: { items: readonly FileItem[] }) {
  const bytes = items.reduce((sum, { file }) => sum + (file?.bytes ?? 0), 0);
  const present = items.filter(({ file }) => file).length;
  return (
    <span className="muted small numeric">
      {countOf(present, 'file')}, {formatBytes(bytes)}
    </span>
  );
}

function FileFault({ fault }: { fault: string | undefined }) {
  if (!fault) return null;
  return (
    <p role="alert" className={cellClasses.fault}>
      <IconAlertTriangle size={14} aria-hidden /> {fault}
    </p>
  );
}
