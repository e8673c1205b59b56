import { Button, FileButton } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { formatBytes } from '../../format.ts';
import classes from './forms.module.css';

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

export interface FileDrop<Target extends HTMLElement> {
  /** Event handlers for the drop target. */
  ref: RefObject<Target | null>;
  /** Whether a file is being dragged over it. */
  isOver: boolean;
}

/** Accepts a file dropped on an element. There must also be a way to choose a file by keyboard. */
export function useFileDrop<Target extends HTMLElement>(onFile: (file: File) => void): FileDrop<Target> {
  const ref = useRef<Target>(null);
  const latest = useRef(onFile);
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    latest.current = onFile;
  });
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      // Without this, the browser would open the file.
      event.preventDefault();
      setIsOver(true);
    };
    const leave = () => setIsOver(false);
    const drop = (event: DragEvent) => {
      setIsOver(false);
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      latest.current(file);
    };
    element.addEventListener('dragover', over);
    element.addEventListener('dragleave', leave);
    element.addEventListener('drop', drop);
    return () => {
      element.removeEventListener('dragover', over);
      element.removeEventListener('dragleave', leave);
      element.removeEventListener('drop', drop);
    };
  }, []);
  return { ref, isOver };
}
