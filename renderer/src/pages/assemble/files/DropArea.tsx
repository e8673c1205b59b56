import { useEffect, useState } from 'react';
import classes from './DropArea.module.css';
import { type PathFile, readDropped } from './readDropped.ts';

export interface DropAreaProps {
  isEnabled: boolean;
  onFiles: (files: PathFile[]) => void;
  onError: (error: unknown) => void;
}

/** Accepts files and folders dropped anywhere on the page. */
export function DropArea({ isEnabled, onFiles, onError }: DropAreaProps) {
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    if (!isEnabled) return;
    let depth = 0;
    const isFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const enter = (event: DragEvent) => {
      if (!isFiles(event)) return;
      depth += 1;
      setIsOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!isFiles(event)) return;
      depth -= 1;
      if (depth <= 0) setIsOver(false);
    };
    const over = (event: DragEvent) => {
      if (!isFiles(event)) return;
      // Without this, the browser would open the file.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy';
    };
    const drop = (event: DragEvent) => {
      depth = 0;
      setIsOver(false);
      if (!isFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      readDropped(event.dataTransfer).then(onFiles, onError);
    };
    const pairs = [
      ['dragenter', enter],
      ['dragleave', leave],
      ['dragover', over],
      ['drop', drop],
    ] as const;
    for (const [name, listen] of pairs) window.addEventListener(name, listen);
    return () => {
      for (const [name, listen] of pairs) window.removeEventListener(name, listen);
    };
  }, [isEnabled, onFiles, onError]);
  if (!isOver) return null;
  return (
    <div className={classes.overlay} aria-hidden>
      <p>Drop to add to the pack</p>
    </div>
  );
}
