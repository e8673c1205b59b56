import { ActionIcon, Drawer, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useState } from 'react';
import type { PackFile } from '../../../../shared/archive/pack.ts';
import { urlOf } from '../../api/client.ts';
import { FilePreview } from '../../components/content/preview/FilePreview.tsx';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { StoredPlace, StoredPlaceMark } from '../../components/data/StoredPlace.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import classes from './PackFiles.module.css';

/** The files of a pack, with digest, preview and download. */
export function PackFiles({ files, bytes }: { files: readonly PackFile[]; bytes: number }) {
  const [shown, setShown] = useState<PackFile>();
  return (
    <Section
      title="Files"
      actions={
        <span className="muted small numeric">
          {countOf(files.length, 'file')}, {formatBytes(bytes)}
        </span>
      }
    >
      {files.length === 0 ? (
        <p className="muted">This pack has no files, only a record.</p>
      ) : (
        <VirtualList
          label="Files"
          items={files}
          keyOf={(file) => file.path}
          render={(file) => <FileRow file={file} onShow={() => setShown(file)} />}
        />
      )}
      <Drawer
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        position="right"
        size="min(56rem, 92vw)"
        title={<span className="mono wrap-anywhere">{shown?.path}</span>}
      >
        {shown && <FileDetails file={shown} />}
      </Drawer>
    </Section>
  );
}

function FileRow({ file, onShow }: { file: PackFile; onShow: () => void }) {
  return (
    <div className={classes.row}>
      <span className={classes.name}>
        <button type="button" className={`${classes.path} mono`} onClick={onShow}>
          {file.path}
        </button>
        <StoredPlaceMark sha256={file.sha256} />
      </span>
      <span className={`${classes.type} muted small`}>{file.media_type}</span>
      <Tooltip label={`${formatCount(file.bytes)} bytes`}>
        <span className={`${classes.size} numeric`}>{formatBytes(file.bytes)}</span>
      </Tooltip>
      <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
      <DownloadLink file={file} />
    </div>
  );
}

function DownloadLink({ file }: { file: PackFile }) {
  return (
    <ActionIcon
      component="a"
      href={urlOf('readBlob', { params: { sha256: file.sha256 } })}
      download={file.path.split('/').at(-1)}
      variant="subtle"
      color="gray"
      aria-label={`Download ${file.path}`}
    >
      <IconDownload size={17} />
    </ActionIcon>
  );
}

function FileDetails({ file }: { file: PackFile }) {
  return (
    <div className={classes.details}>
      <p className={classes.facts}>
        <span className="muted">
          {file.media_type}, {formatBytes(file.bytes)}
        </span>
        <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
        <DownloadLink file={file} />
      </p>
      <StoredPlace sha256={file.sha256} />
      <FilePreview
        address={urlOf('readBlob', { params: { sha256: file.sha256 } })}
        path={file.path}
        mediaType={file.media_type}
        bytes={file.bytes}
      />
    </div>
  );
}
