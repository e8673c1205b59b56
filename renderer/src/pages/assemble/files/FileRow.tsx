import { ActionIcon, TextInput, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconPencil, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { filePathFault } from '../../../../../shared/archive/filePath.ts';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { formatBytes, formatCount } from '../../../format/size.ts';
import { fieldId } from '../draftRecord.ts';
import { usePackForm } from '../formContext.ts';
import type { DraftFile } from './draftFile.ts';
import classes from './FileRow.module.css';

export interface FileRowProps {
  file: DraftFile;
  onRename: (path: string) => void;
  onRemove: () => void;
}

/** One file of the draft: its editable path, its size and its hashing progress. */
export function FileRow({ file, onRename, onRemove }: FileRowProps) {
  const { errorOf } = usePackForm();
  const [isEditing, setIsEditing] = useState(false);
  const id = fieldId('files', file.id);
  const fault = filePathFault(file.path) ?? file.error ?? errorOf(id);
  return (
    <div className={classes.row} id={id} tabIndex={-1}>
      {isEditing ? (
        <PathField
          path={file.path}
          onDone={(path) => {
            setIsEditing(false);
            if (path !== undefined && path !== file.path) onRename(path);
          }}
        />
      ) : (
        <span className={classes.path}>
          <span className="mono wrap-anywhere">{file.path}</span>
          <Tooltip label="Edit the path">
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={`Edit path of ${file.path}`}
              onClick={() => setIsEditing(true)}
            >
              <IconPencil size={15} />
            </ActionIcon>
          </Tooltip>
        </span>
      )}
      <Tooltip label={`${formatCount(file.bytes)} bytes, ${file.mediaType}`}>
        <span className={`${classes.size} numeric`}>{formatBytes(file.bytes)}</span>
      </Tooltip>
      <span className={classes.hash}>
        <HashState file={file} />
      </span>
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${file.path}`} onClick={onRemove}>
        <IconX size={17} />
      </ActionIcon>
      {fault && (
        <p role="alert" className={classes.fault}>
          <IconAlertTriangle size={14} aria-hidden /> {fault}
        </p>
      )}
    </div>
  );
}

function HashState({ file }: { file: DraftFile }) {
  if (!file.file) return <span className={classes.lost}>add this file again</span>;
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
  const fault = filePathFault(normal);
  return (
    <TextInput
      ref={focusAtEnd}
      size="xs"
      aria-label="Path in the pack"
      className="mono"
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
