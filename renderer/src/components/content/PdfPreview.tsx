import { useIntersection } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from 'pdfjs-dist';
// oxlint-disable-next-line import/default -- Vite adds the export.
import workerUrl from 'pdfjs-dist/build/pdf.worker.min.mjs?url';
import { useEffect, useRef, useState } from 'react';
import { sendRequest } from '../../api/client.ts';
import { countOf, formatBytes } from '../../format.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import classes from './content.module.css';
import { MAX_PDF_BYTES } from './RowsTable.tsx';

GlobalWorkerOptions.workerSrc = workerUrl;

export interface PdfPreviewProps {
  /** The URL of the bytes. */
  address: string;
  name: string;
  bytes: number;
}

/** The width in CSS pixels that pages are drawn for. */
const PAGE_WIDTH = 900;
/** The ratio of A4, until a page is loaded. */
const A4_RATIO = 1.414;
/** Pages this far outside the window are drawn in advance. Others give their memory back. */
const DRAWN_AHEAD = '600px 0px';

/** Draws the pages of a PDF as they are scrolled into view. Its scripts, forms and links have no effect. */
export default function PdfPreview({ address, name, bytes }: PdfPreviewProps) {
  if (bytes > MAX_PDF_BYTES)
    return (
      <p className="muted">The PDF is too large to show ({formatBytes(bytes)}). Download it to open it.</p>
    );
  return <PdfPages address={address} name={name} />;
}

function PdfPages({ address, name }: Pick<PdfPreviewProps, 'address' | 'name'>) {
  const file = useQuery({
    queryKey: ['pdf', address],
    queryFn: async ({ signal }) => {
      const response = await sendRequest(address, { signal });
      if (!response.ok) throw new Error(`The file could not be loaded (status ${response.status}).`);
      return response.arrayBuffer();
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const { document, error } = usePdf(file.data);
  if (file.error) return <ErrorNote error={file.error} onRetry={() => void file.refetch()} />;
  if (error !== undefined) return <p className="muted">{error} Download it to open it.</p>;
  if (!document) return <output className="muted">Loading…</output>;
  const numbers = Array.from({ length: document.numPages }, (_, index) => index + 1);
  return (
    // The pages scroll, so they must be reachable by keyboard.
    <section
      className={`${classes.pdf} stack gap-3 scroll sunk`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      aria-label={`${countOf(document.numPages, 'page')} of ${name}`}
    >
      {numbers.map((number) => (
        <PdfPage key={number} document={document} number={number} />
      ))}
    </section>
  );
}

/** Opens a PDF and closes it when the component goes. */
function usePdf(data: ArrayBuffer | undefined): { document?: PDFDocumentProxy; error?: string } {
  const [state, setState] = useState<{ document?: PDFDocumentProxy; error?: string }>({});
  useEffect(() => {
    if (!data) return undefined;
    // The worker takes the bytes over, so it gets a copy.
    const task = getDocument({ data: new Uint8Array(data.slice(0)), enableXfa: false, useWasm: false });
    let isGone = false;
    task.promise.then(
      (document) => !isGone && setState({ document }),
      (error: unknown) => !isGone && setState({ error: sentenceFor(error) }),
    );
    return () => {
      isGone = true;
      setState({});
      void task.destroy();
    };
  }, [data]);
  return state;
}

function sentenceFor(error: unknown): string {
  const isEncrypted = error instanceof Error && error.name === 'PasswordException';
  return isEncrypted ? 'The PDF is protected by a password.' : 'The PDF is damaged and cannot be shown.';
}

function PdfPage({ document, number }: { document: PDFDocumentProxy; number: number }) {
  const { ref, entry } = useIntersection({ rootMargin: DRAWN_AHEAD });
  const [ratio, setRatio] = useState(A4_RATIO);
  const isNear = entry?.isIntersecting ?? false;
  return (
    <div ref={ref} className={classes.pdfPage} style={{ aspectRatio: 1 / ratio }}>
      {isNear && (
        <PdfCanvas
          document={document}
          number={number}
          onSize={({ width, height }) => setRatio(height / width)}
        />
      )}
    </div>
  );
}

interface PdfCanvasProps {
  document: PDFDocumentProxy;
  number: number;
  onSize: (size: { width: number; height: number }) => void;
}

function PdfCanvas({ document, number, onSize }: PdfCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const sized = useRef(onSize);
  const [isPainted, setIsPainted] = useState(false);
  const [isBroken, setIsBroken] = useState(false);
  useEffect(() => {
    let cancel = () => {};
    let isGone = false;
    const draw = async () => {
      const page = await document.getPage(number);
      const element = canvas.current;
      if (isGone || !element) return;
      const natural = page.getViewport({ scale: 1 });
      const density = Math.min(globalThis.devicePixelRatio || 1, 2);
      const viewport = page.getViewport({ scale: (PAGE_WIDTH / natural.width) * density });
      sized.current(natural);
      element.width = viewport.width;
      element.height = viewport.height;
      const rendering = page.render({ canvas: element, viewport });
      cancel = () => rendering.cancel();
      await rendering.promise;
      setIsPainted(true);
    };
    draw().catch(() => !isGone && setIsBroken(true));
    return () => {
      isGone = true;
      cancel();
    };
  }, [document, number]);
  if (isBroken) return <p className="muted">Page {number} cannot be shown.</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role
    <canvas ref={canvas} role="img" aria-label={`Page ${number}`} data-painted={isPainted || undefined} />
  );
}
