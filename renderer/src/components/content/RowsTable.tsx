import { formatCount } from '../../format.ts';
import classes from './content.module.css';

interface RowsTableProps {
  /** The first row is the header. */
  rows: readonly (readonly string[])[];
  /** Whether `rows` is the whole table. */
  isWhole: boolean;
}

/** The first rows of a table. */
export function RowsTable({ rows, isWhole }: RowsTableProps) {
  const [header = [], ...body] = rows;
  const shown = body.slice(0, MAX_TABLE_ROWS);
  return (
    <>
      {/* The table scrolls, so it must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={`${classes.table} scroll sheet`} aria-label="Rows of the file" tabIndex={0}>
        <table className="cells">
          <thead>
            <tr>
              {header.map((name, column) => (
                <th key={column} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, line) => (
              <tr key={line}>
                {row.map((cell, column) => (
                  <td key={column} data-number={isNumber(cell) || undefined}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="muted small">
        {isWhole && shown.length === body.length ? '' : 'First '}
        {formatCount(shown.length)} rows, {formatCount(header.length)} columns
      </p>
    </>
  );
}

function isNumber(cell: string): boolean {
  return cell.trim() !== '' && Number.isFinite(Number(cell));
}

/** Text as it is, in a box of its own that scrolls. With `isBounded`, the box is not higher than the window. */
export function TextBox({
  text,
  label,
  isBounded = false,
}: {
  text: string;
  label: string;
  isBounded?: boolean;
}) {
  return (
    <pre
      className={`${classes.text} scroll small keep-lines wrap-anywhere sheet`}
      data-bounded={isBounded || undefined}
      // The box must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      aria-label={label}
    >
      {text}
    </pre>
  );
}

/**
 * How a file is previewed. Nothing that could run a script is rendered: SVG and HTML are shown as source
 * text.
 */
type PreviewKind = 'image' | 'pdf' | 'csv' | 'json' | 'markdown' | 'text' | 'none';

const RASTER = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const TEXT = /^(text\/|application\/(xml|javascript|x-sh|toml|yaml|x-yaml|sql|x-python|x-r)|image\/svg\+xml)/;
const TEXT_NAMES =
  /\.(txt|md|rst|csv|tsv|json|jsonl|ndjson|geojson|xml|svg|html?|css|js|ts|py|r|rmd|jl|m|do|sps|sas|sh|bat|c|h|cpp|java|go|rs|rb|pl|tex|bib|ris|ya?ml|toml|ini|cfg|conf|log|sql|ipynb|diff|patch)$/i;

export function previewKind(path: string, mediaType: string): PreviewKind {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (RASTER.test(type)) return 'image';
  if (type === 'application/pdf' || /\.pdf$/i.test(path)) return 'pdf';
  if (/^text\/(x-)?markdown$/.test(type) || /\.(md|markdown)$/i.test(path)) return 'markdown';
  if (type === 'text/csv' || type === 'text/tab-separated-values' || /\.(csv|tsv)$/i.test(path)) return 'csv';
  if (/[/+]json$/.test(type) || /\.(json|geojson|ipynb)$/i.test(path)) return 'json';
  if (TEXT.test(type) || TEXT_NAMES.test(path)) return 'text';
  return 'none';
}

/** Size limits of previews. */
export const MAX_TEXT_BYTES = 262_144;
export const MAX_JSON_BYTES = 2_097_152;
export const MAX_IMAGE_BYTES = 26_214_400;
export const MAX_PDF_BYTES = 52_428_800;
export const MAX_TABLE_ROWS = 500;
