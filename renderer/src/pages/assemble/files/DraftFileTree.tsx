import { ActionIcon, FileButton, SegmentedControl, TextInput, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconArrowBackUp, IconPencil, IconReplace, IconX } from '@tabler/icons-react';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { newPathFault } from '../../../../../shared/archive/filePath.ts';
import { FILE_CHANGES, type FileChange } from '../../../../../shared/archive/packComparison.ts';
import { FileTree } from '../../../components/data/FileTree.tsx';
import { DigestChip, StateBadge } from '../../../components/data/Values.tsx';
import { SearchField } from '../../../components/forms/filters.tsx';
import { countOf, formatBytes, formatCount } from '../../../format.ts';
import classes from '../assemble.module.css';
import { fieldId } from '../draftRecord.ts';
import { removeFiles, renameFiles, replaceFile, reuseFiles, useDraft } from '../draftStore.ts';
import { usePackForm } from '../packForm.ts';
import { type DraftFile, type FileItem, fileItems } from './draftFile.ts';

/** A filter is offered for longer lists, and for versions. */
const FILTERED_FROM = 12;

/** The files of the draft as a tree; for a new version, compared with the previous one. */
export function DraftFileTree() {
  const files = useDraft((state) => state.files);
  const previous = useDraft((state) => state.previous);
  const { errorOf } = usePackForm();
  const [edited, setEdited] = useState<string>();
  const [text, setText] = useState('');
  const [shown, setShown] = useState<FileChange | 'all'>('all');
  const items = useMemo(() => fileItems(files, previous), [files, previous]);
  const visible = useMemo(() => filtered(items, text, shown), [items, text, shown]);
  const isVersion = previous.length > 0;

  const onKey = (event: KeyboardEvent, { key, file }: FileItem) => {
    if (!file) return;
    if (event.key === 'Delete') removeFiles([file.id]);
    else if (event.key === 'Enter' || event.key === 'F2') setEdited(key);
    else return;
    event.preventDefault();
  };
  const onEdited = ({ key, path: before }: FileItem, path: string | undefined) => {
    setEdited(undefined);
    if (path !== undefined && path !== before) renameFiles(new Map([[key, path]]));
  };
  return (
    <div className="stack gap-3">
      {(isVersion || items.length > FILTERED_FROM) && (
        <div className="cluster gap-2">
          <div className="grow">
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
              <FileFault fault={newPathFault(path) ?? file.error ?? errorOf(fieldId('files', file.id))} />
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
  return <span className={`mono wrap-anywhere ${file ? '' : classes.removed}`}>{name}</span>;
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
    <p role="alert" className={`${classes.fault} line gap-1 small bad`}>
      <IconAlertTriangle size={14} aria-hidden /> {fault}
    </p>
  );
}

interface FileCellsProps {
  item: FileItem;
  /** Whether the files are compared with those of a previous version. */
  isVersion: boolean;
  onEditPath: () => void;
}

/** What is shown next to the name of a file: how it changed, size, digest and actions. */
function FileCells({ item, isVersion, onEditPath }: FileCellsProps) {
  const { file, previous } = item;
  const bytes = file?.bytes ?? previous?.bytes ?? 0;
  const type = file?.mediaType ?? previous?.media_type;
  return (
    <>
      {isVersion && (
        <span className={classes.change}>
          {item.change && <StateBadge kind="fileChange" value={item.change} />}
        </span>
      )}
      <Tooltip label={`${formatCount(bytes)} bytes, ${type}`}>
        <span className={`${classes.size} text-end small nowrap numeric`}>{formatBytes(bytes)}</span>
      </Tooltip>
      <span className={classes.hash}>{file && <HashState file={file} />}</span>
      <span className={`${classes.actions} line stretch to-end`}>
        {file ? <FileActions file={file} onEditPath={onEditPath} /> : <PutBack item={item} />}
      </span>
    </>
  );
}

function FileActions({ file, onEditPath }: { file: DraftFile; onEditPath: () => void }) {
  return (
    <>
      <Tooltip label="Edit the path">
        <ActionIcon aria-label={`Edit path of ${file.path}`} onClick={onEditPath}>
          <IconPencil size={16} />
        </ActionIcon>
      </Tooltip>
      <FileButton onChange={(chosen) => chosen && replaceFile(file.id, chosen)}>
        {(props) => (
          <Tooltip label="Replace with another file">
            <ActionIcon {...props} aria-label={`Replace ${file.path}`}>
              <IconReplace size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </FileButton>
      <Tooltip label="Remove">
        <ActionIcon aria-label={`Remove ${file.path}`} onClick={() => removeFiles([file.id])}>
          <IconX size={17} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}

function PutBack({ item: { path, previous } }: { item: FileItem }) {
  return (
    <Tooltip label="Put back the file of the previous version">
      <ActionIcon aria-label={`Put back ${path}`} onClick={() => previous && reuseFiles([previous])}>
        <IconArrowBackUp size={17} />
      </ActionIcon>
    </Tooltip>
  );
}

function HashState({ file }: { file: DraftFile }) {
  if (!file.file && !file.isStored) return <span className="small strong bad">add this file again</span>;
  if (file.sha256) return <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />;
  if (file.error) return null;
  const percent = file.bytes === 0 ? 0 : Math.floor((100 * file.hashed) / file.bytes);
  return <span className="muted small numeric">hashing {percent} %</span>;
}

interface PathFieldProps {
  path: string;
  /** Called with the new path, or with undefined if it did not change. */
  onDone: (path: string | undefined) => void;
}

function PathField({ path, onDone }: PathFieldProps) {
  const [typed, setTyped] = useState(path);
  const normal = typed.normalize('NFC');
  const fault = newPathFault(normal);
  return (
    <TextInput
      ref={focusAtEnd}
      size="xs"
      aria-label="Path in the pack"
      className="fill mono"
      value={typed}
      error={fault}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => onDone(fault ? undefined : normal)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && !fault) onDone(normal);
        if (event.key === 'Escape') onDone(undefined);
      }}
    />
  );
}

/** Focuses the input when editing starts. */
function focusAtEnd(element: HTMLInputElement | null): void {
  element?.focus();
}
