import { useQuery } from '@tanstack/react-query';
import { parse } from 'csv-parse/browser/esm/sync';
import { lazy, Suspense, useMemo } from 'react';
import { readResponse, sendRequest } from '../../api/client.ts';
import { formatBytes } from '../../format.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { JsonContent } from './JsonTree.tsx';
import {
  MAX_IMAGE_BYTES,
  MAX_JSON_BYTES,
  MAX_TABLE_ROWS,
  MAX_TEXT_BYTES,
  previewKind,
  RowsTable,
  TextBox,
} from './RowsTable.tsx';

const Markdown = lazy(async () => ({ default: (await import('./Markdown.tsx')).Markdown }));
const PdfPreview = lazy(() => import('./PdfPreview.tsx'));

interface FilePreviewProps {
  /** The URL of the bytes. */
  address: string;
  path: string;
  mediaType: string;
  bytes: number;
}

/** Previews a file, if that is safe and fast. */
export function FilePreview(props: FilePreviewProps) {
  const { path, mediaType, bytes } = props;
  const kind = previewKind(path, mediaType);
  if (bytes === 0) return <p className="muted">The file is empty.</p>;
  if (kind === 'none')
    return <p className="muted">No preview is available for this type of file. Download it to open it.</p>;
  if (kind === 'image') {
    return bytes > MAX_IMAGE_BYTES ? (
      <p className="muted">
        The image is too large to preview ({formatBytes(bytes)}). Download it to view it.
      </p>
    ) : (
      <ImagePreview {...props} />
    );
  }
  if (kind === 'pdf') {
    return (
      <Suspense fallback={<p className="muted">Loading…</p>}>
        <PdfPreview address={props.address} name={path} bytes={bytes} />
      </Suspense>
    );
  }
  return <TextPreview {...props} kind={kind} />;
}

interface Beginning {
  text: string;
  isWhole: boolean;
}

/** The start of a text file, loaded with a range request so that a large file is not downloaded in full. */
async function readBeginning(address: string, limit: number, signal: AbortSignal): Promise<Beginning> {
  const response = await sendRequest(address, { signal, headers: { Range: `bytes=0-${limit - 1}` } });
  // The node says why, such as that the file is damaged.
  if (!response.ok) await readResponse(response);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const size = Number(response.headers.get('Content-Range')?.split('/')[1] ?? bytes.length);
  const isWhole = size <= limit;
  const text = new TextDecoder('utf-8').decode(bytes.subarray(0, limit), { stream: !isWhole });
  return { text, isWhole };
}

function TextPreview({
  address,
  bytes,
  kind,
  path,
}: FilePreviewProps & { kind: 'csv' | 'json' | 'markdown' | 'text' }) {
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
  if (!beginning.data) return <p className="muted">Loading…</p>;
  const { text, isWhole } = beginning.data;
  if (text.includes('\u0000')) {
    return (
      <p className="muted">
        The file is named like a text file but is not UTF-8 text. Download it to open it.
      </p>
    );
  }
  return (
    <div className="stack gap-2">
      {kind === 'csv' ? (
        <CsvTable text={text} isWhole={isWhole} isTabbed={/\.tsv$/i.test(path)} />
      ) : kind === 'markdown' ? (
        <Suspense fallback={<p className="muted">Loading…</p>}>
          <div className="card">
            <Markdown text={text} base={null} />
          </div>
        </Suspense>
      ) : kind === 'json' && isWhole ? (
        <JsonContent
          text={text}
          label={`Content of ${path}`}
          asText={(json) => <TextBox text={indentJson(json)} label={`Content of ${path}`} />}
        />
      ) : (
        <TextBox text={text} label={`Content of ${path}`} />
      )}
      {!isWhole && (
        <p className="muted small">
          The first {formatBytes(limit)} of {formatBytes(bytes)} are shown. Download the file to see all of
          it.
        </p>
      )}
    </div>
  );
}

/** Indents JSON; returns other text unchanged. */
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
      const response = await sendRequest(address, { signal });
      if (!response.ok) await readResponse(response);
      return response.blob();
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (image.error) return <ErrorNote error={image.error} onRetry={() => void image.refetch()} />;
  const blob = image.data;
  if (!blob) return <p className="muted">Loading…</p>;
  return <img ref={(element) => showBlob(element, blob)} className="image" alt={path} />;
}

/** Creates an object URL for an image and revokes it when the component unmounts. */
function showBlob(image: HTMLImageElement | null, blob: Blob): (() => void) | undefined {
  if (!image) return undefined;
  const address = URL.createObjectURL(blob);
  image.src = address;
  return () => URL.revokeObjectURL(address);
}

interface CsvTableProps {
  text: string;
  /** Whether `text` is the whole file. If not, the last line may be cut off and is dropped. */
  isWhole: boolean;
  isTabbed: boolean;
}

/** The first rows of a CSV file as a table, or as plain text if it cannot be parsed. */
function CsvTable({ text, isWhole, isTabbed }: CsvTableProps) {
  const rows = useMemo(() => readRows(text, isWhole, isTabbed), [text, isWhole, isTabbed]);
  if (!rows || rows.length === 0) {
    return <TextBox text={text} label="Content of the table" />;
  }
  return <RowsTable rows={rows} isWhole={isWhole} />;
}

function readRows(text: string, isWhole: boolean, isTabbed: boolean): string[][] | undefined {
  const complete = isWhole ? text : text.slice(0, text.lastIndexOf('\n') + 1);
  const firstLine = complete.split('\n', 1)[0] ?? '';
  const delimiter = isTabbed ? '\t' : firstLine.includes(';') && !firstLine.includes(',') ? ';' : ',';
  try {
    return parse(complete, {
      bom: true,
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: MAX_TABLE_ROWS + 2,
    });
  } catch {
    return undefined;
  }
}
