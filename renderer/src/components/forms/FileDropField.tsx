import { Button, FileButton } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { formatBytes } from '../../format/size.ts';
import classes from './forms.module.css';
import { useFileDrop } from './useFileDrop.ts';

interface FileDropFieldProps {
  label: string;
  file: File | null;
  /** The endings of the files that it takes, in words: `.warc or .wacz`. */
  endings: string;
  /** The same for the file picker of the browser, with media types. */
  accept: string;
  error: ReactNode;
  onFile: (file: File) => void;
  /** What else is said below the field. */
  children?: ReactNode;
}

/** A field that takes one file, by drop or with the file picker. */
export function FileDropField({ label, file, endings, accept, error, onFile, children }: FileDropFieldProps) {
  const { ref, isOver } = useFileDrop<HTMLElement>(onFile);
  return (
    <section
      ref={ref}
      aria-label={label}
      className={`${classes.drop} dropzone stack gap-3`}
      data-over={isOver || undefined}
      data-wrong={error ? true : undefined}
    >
      {file ? (
        <p className="line gap-2">
          <IconFile size={18} aria-hidden />
          <span className="wrap-anywhere">{file.name}</span>
          <span className="muted numeric nowrap">{formatBytes(file.size)}</span>
        </p>
      ) : (
        <p>Drop a file here ({endings}), or</p>
      )}
      <FileButton onChange={(chosen) => chosen && onFile(chosen)} accept={accept}>
        {(props) => (
          <Button {...props} variant="default" size="xs">
            {file ? 'Choose another file' : 'Choose a file'}
          </Button>
        )}
      </FileButton>
      {error && (
        <p role="alert" className="small bad">
          {error}
        </p>
      )}
      {children}
    </section>
  );
}
