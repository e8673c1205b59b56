import { type RefObject, useEffect, useRef, useState } from 'react';

export interface FileDrop<Target extends HTMLElement> {
  /** For the element that files are dropped on. */
  ref: RefObject<Target | null>;
  /** Whether something hovers over it. */
  isOver: boolean;
}

/** Takes a file that is dropped on an element. A second way only: beside it there must be one by keyboard. */
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
      // Without this the browser would open the file instead.
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
