import { type RefObject, useEffect, useRef, useState } from 'react';

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
