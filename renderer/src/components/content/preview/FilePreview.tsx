import { useQuery } from '@tanstack/react-query';
import { formatBytes } from '../../../format/size.ts';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { CsvTable } from './CsvTable.tsx';
import classes from './FilePreview.module.css';
import { MAX_IMAGE_BYTES, MAX_JSON_BYTES, MAX_TEXT_BYTES, previewKind } from './previewKind.ts';

export interface FilePreviewProps {
  /** Where the bytes are. */
  address: string;
  path: string;
  mediaType: string;
  bytes: number;
}

/** What is in a file, as far as it can be shown safely and quickly. */
export function FilePreview(props: FilePreviewProps) {
  const { path, mediaType, bytes } = props;
  const kind = previewKind(path, mediaType);
  if (bytes === 0) return <p className="muted">The file is empty.</p>;
  if (kind === 'none')
    return <p className="muted">There is no preview of this kind of file. Download it to open it.</p>;
  if (kind === 'image') {
    return bytes > MAX_IMAGE_BYTES ? (
      <p className="muted">The image is too large to be shown here ({formatBytes(bytes)}). Download it.</p>
    ) : (
      <ImagePreview {...props} />
    );
  }
  return <TextPreview {...props} kind={kind} />;
}

interface Beginning {
  text: string;
  isWhole: boolean;
}

/** The beginning of a file as text, asked for as a range so that a large file is not fetched for its first lines. */
async function readBeginning(address: string, limit: number, signal: AbortSignal): Promise<Beginning> {
  const response = await fetch(address, { signal, headers: { Range: `bytes=0-${limit - 1}` } });
  if (!response.ok) throw new Error(`The node answered ${response.status} instead of the file.`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const size = Number(response.headers.get('Content-Range')?.split('/')[1] ?? bytes.length);
  const isWhole = size <= limit;
  const text = new TextDecoder('utf-8').decode(bytes.subarray(0, limit), { stream: !isWhole });
  return { text, isWhole };
}

function TextPreview({ address, bytes, kind, path }: FilePreviewProps & { kind: 'csv' | 'json' | 'text' }) {
  const limit = kind === 'json' && bytes <= MAX_JSON_BYTES ? MAX_JSON_BYTES : MAX_TEXT_BYTES;
  const beginning = useQuery({
    queryKey: ['preview', address, limit],
    queryFn: ({ signal }) => readBeginning(address, limit, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (beginning.error) {
    return <ErrorNote error={beginning.error} onRetry={() => void beginning.refetch()} />;
  }
  if (!beginning.data) return <p className="muted">Reading…</p>;
  const { text, isWhole } = beginning.data;
  if (text.includes('\u0000')) {
    return <p className="muted">The file is named like text, but its bytes are none. Download it.</p>;
  }
  return (
    <div className={classes.preview}>
      {kind === 'csv' ? (
        <CsvTable text={text} isWhole={isWhole} isTabbed={/\.tsv$/i.test(path)} />
      ) : (
        // A long text is scrolled in a box of its own, which the keyboard must reach.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre className={classes.text} tabIndex={0} aria-label={`Content of ${path}`}>
          {kind === 'json' && isWhole ? indentJson(text) : text}
        </pre>
      )}
      {!isWhole && (
        <p className="muted small">
          The first {formatBytes(limit)} of {formatBytes(bytes)} are shown. Download the file for all of it.
        </p>
      )}
    </div>
  );
}

/** Indented where it is JSON; as it is where it is not. */
function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function ImagePreview({ address, path }: FilePreviewProps) {
  const image = useQuery({
    queryKey: ['image', address],
    queryFn: async ({ signal }) => {
      const response = await fetch(address, { signal });
      if (!response.ok) throw new Error(`The node answered ${response.status} instead of the image.`);
      return response.blob();
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (image.error) return <ErrorNote error={image.error} onRetry={() => void image.refetch()} />;
  const blob = image.data;
  if (!blob) return <p className="muted">Reading…</p>;
  return <img ref={(element) => showBlob(element, blob)} className={classes.image} alt={path} />;
}

/** Gives an image its bytes by an address of this page's own, which is given up with the image. */
function showBlob(image: HTMLImageElement | null, blob: Blob): (() => void) | undefined {
  if (!image) return undefined;
  const address = URL.createObjectURL(blob);
  image.src = address;
  return () => URL.revokeObjectURL(address);
}
