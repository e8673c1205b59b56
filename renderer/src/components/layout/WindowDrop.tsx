import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { readDropped } from '../../pages/assemble/files/readDropped.ts';
import classes from './WindowDrop.module.css';

const ImportDialog = lazy(() => import('../../pages/assemble/import/ImportDialog.tsx'));

/** Pages that take dropped files themselves. */
const OWN_PAGES = ['/verify'];
/** An open dialog is finished first. */
const DIALOG = '[role="dialog"], .mantine-Modal-overlay, .mantine-Drawer-overlay';

/** Accepts files dropped anywhere in the window: pack files are imported, others start a new pack. */
export function WindowDrop() {
  const [isOver, setIsOver] = useState(false);
  const [hasDropped, setHasDropped] = useState(false);
  const drop = useTakeDrop(() => setHasDropped(true));
  const { pathname } = useLocation();
  const isOwn = OWN_PAGES.includes(pathname);
  useEffect(() => {
    if (isOwn) return;
    let depth = 0;
    const onDrag = (event: DragEvent, by: 1 | -1) => {
      if (!isFiles(event)) return;
      depth += by;
      setIsOver(depth > 0 && !isOnDialog(event));
    };
    const enter = (event: DragEvent) => onDrag(event, 1);
    const leave = (event: DragEvent) => onDrag(event, -1);
    const over = (event: DragEvent) => {
      if (!isFiles(event)) return;
      // Without this, the browser would open the file.
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy';
    };
    const onDrop = (event: DragEvent) => {
      depth = 0;
      setIsOver(false);
      // A field that takes files has taken these.
      if (!isFiles(event) || event.defaultPrevented) return;
      event.preventDefault();
      if (event.dataTransfer && !isOnDialog(event)) drop(event.dataTransfer);
    };
    const pairs = [
      ['dragenter', enter],
      ['dragleave', leave],
      ['dragover', over],
      ['drop', onDrop],
    ] as const;
    for (const [name, listen] of pairs) window.addEventListener(name, listen);
    return () => {
      for (const [name, listen] of pairs) window.removeEventListener(name, listen);
    };
  }, [isOwn, drop]);
  return (
    <>
      {isOver && (
        <div className={classes.overlay} aria-hidden>
          <p>Drop to start a new pack, or to import pack files</p>
        </div>
      )}
      {hasDropped && (
        <Suspense>
          <ImportDialog />
        </Suspense>
      )}
    </>
  );
}

/** Returns a function with a stable identity. It loads what reads the files only when some are dropped. */
function useTakeDrop(onTaken: () => void): (transfer: DataTransfer) => void {
  const navigate = useNavigate();
  const take = (transfer: DataTransfer) => {
    // Read at once: the entries expire with the event.
    const dropped = readDropped(transfer);
    onTaken();
    void import('../../pages/assemble/import/importDropped.ts').then(({ importDropped }) =>
      importDropped(dropped, () => void navigate('/assemble')),
    );
  };
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
  });
  const [stable] = useState(() => (transfer: DataTransfer) => latest.current(transfer));
  return stable;
}

function isFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}

function isOnDialog({ target }: DragEvent): boolean {
  return target instanceof Element && target.closest(DIALOG) !== null;
}
