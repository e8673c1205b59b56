import { ActionIcon, FileButton, TextInput, Tooltip } from '@mantine/core';
import { IconArrowBackUp, IconPencil, IconReplace, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { filePathFault } from '../../../../../shared/archive/filePath.ts';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { formatBytes, formatCount } from '../../../format/size.ts';
import type { DraftFile } from './draftFile.ts';
import { useDraftFiles } from './draftFiles.ts';
import classes from './FileCells.module.css';
import type { FileItem } from './fileChanges.ts';

export interface FileCellsProps {
  item: FileItem;
  /** Whether the files are compared with those of a previous version. */
  isVersion: boolean;
  onEditPath: () => void;
}

/** What is shown next to the name of a file: how it changed, size, digest and actions. */
export function FileCells({ item, isVersion, onEditPath }: FileCellsProps) {
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
        <span className={`${classes.size} numeric`}>{formatBytes(bytes)}</span>
      </Tooltip>
      <span className={classes.hash}>{file && <HashState file={file} />}</span>
      <span className={classes.actions}>
        {file ? <FileActions file={file} onEditPath={onEditPath} /> : <PutBack item={item} />}
      </span>
    </>
  );
}

function FileActions({ file, onEditPath }: { file: DraftFile; onEditPath: () => void }) {
  const { remove, replace } = useDraftFiles();
  return (
    <>
      <Tooltip label="Edit the path">
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Edit path of ${file.path}`}
          onClick={onEditPath}
        >
          <IconPencil size={16} />
        </ActionIcon>
      </Tooltip>
      <FileButton onChange={(chosen) => chosen && replace(file.id, chosen)}>
        {(props) => (
          <Tooltip label="Replace with another file">
            <ActionIcon {...props} variant="subtle" color="gray" aria-label={`Replace ${file.path}`}>
              <IconReplace size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </FileButton>
      <Tooltip label="Remove">
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Remove ${file.path}`}
          onClick={() => remove([file.id])}
        >
          <IconX size={17} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}

function PutBack({ item: { path, previous } }: { item: FileItem }) {
  const reuse = useDraftFiles((state) => state.reuse);
  return (
    <Tooltip label="Put back the file of the previous version">
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Put back ${path}`}
        onClick={() => previous && reuse([previous])}
      >
        <IconArrowBackUp size={17} />
      </ActionIcon>
    </Tooltip>
  );
}

function HashState({ file }: { file: DraftFile }) {
  if (!file.file && !file.isStored) return <span className={classes.lost}>add this file again</span>;
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

export function PathField({ path, onDone }: PathFieldProps) {
  const [typed, setTyped] = useState(path);
  const normal = typed.normalize('NFC');
  const fault = filePathFault(normal);
  return (
    <TextInput
      ref={focusAtEnd}
      size="xs"
      aria-label="Path in the pack"
      className={`${classes.pathField} mono`}
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
