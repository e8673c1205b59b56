import { Button, FileButton } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { useFileDrop } from '../../../components/forms/useFileDrop.ts';
import { formatBytes } from '../../../format/size.ts';
import type { CaptureDraft } from './captureImport.ts';
import classes from './ImportCaptures.module.css';

export interface WarcFileFieldProps {
  draft: CaptureDraft;
  error: string | undefined;
  onChange: (change: Partial<CaptureDraft>) => void;
}

/** Accepts a WARC file by drop or file picker. */
export function WarcFileField({ draft: { file }, error, onChange }: WarcFileFieldProps) {
  const take = (chosen: File | null) => {
    if (chosen) onChange({ file: chosen });
  };
  const { ref, isOver } = useFileDrop<HTMLElement>(take);
  return (
    <section
      ref={ref}
      aria-label="WARC file"
      className={classes.drop}
      data-over={isOver || undefined}
      data-wrong={error ? true : undefined}
    >
      {file ? (
        <p className={classes.file}>
          <IconFile size={18} aria-hidden />
          <span className="wrap-anywhere">{file.name}</span>
          <span className="muted numeric nowrap">{formatBytes(file.size)}</span>
        </p>
      ) : (
        <p>Drop a WARC file here (.warc or .warc.gz), or</p>
      )}
      <FileButton onChange={take} accept=".warc,.gz,application/warc,application/gzip">
        {(props) => (
          <Button {...props} variant="default" size="xs">
            {file ? 'Choose another file' : 'Choose a file'}
          </Button>
        )}
      </FileButton>
      {error && (
        <p role="alert" className={classes.wrong}>
          {error}
        </p>
      )}
    </section>
  );
}
