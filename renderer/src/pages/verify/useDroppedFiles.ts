import { useEffect, useRef, useState } from 'react';
import { type PathFile, readDropped } from '../assemble/files/readDropped.ts';

/**
 * Accepts files and folders dropped anywhere on the page. Returns whether some are being dragged over it, and whether
 * the browser still reads dropped folders.
 */
export function useDroppedFiles(onFiles: (files: PathFile[]) => void): {
  isOver: boolean;
  isReading: boolean;
} {
  const [isOver, setIsOver] = useState(false);
  const [reading, setReading] = useState(0);
  const latest = useRef(onFiles);
  useEffect(() => {
    latest.current = onFiles;
  });
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false);
    };
    const drop = (event: DragEvent) => {
      setIsOver(false);
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setReading((count) => count + 1);
      void readDropped(event.dataTransfer)
        .then((files) => latest.current(files))
        .finally(() => setReading((count) => count - 1));
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return { isOver, isReading: reading > 0 };
}
