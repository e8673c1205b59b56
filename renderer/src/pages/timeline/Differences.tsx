import { Button, Switch } from '@mantine/core';
import { Fragment, useState } from 'react';
import { visibleText } from '../../../../shared/collection/derived.ts';
import type {
  AnyDiff,
  ByteParts,
  DiffSide,
  Hunk,
  ImageParts,
  JsonChange,
  TableParts,
  TableRow,
  TextPart,
} from '../../../../shared/collection/diff.ts';
import {
  dimensions,
  hexBytes,
  hunkPlace,
  unchangedBefore,
} from '../../../../shared/collection/diffSummary.ts';
import { urlOf } from '../../api/client.ts';
import { ticketed } from '../../api/ownerSession.ts';
import { PictureCut } from '../../components/content/PagePictures.tsx';
import { MAX_IMAGE_BYTES, previewKind } from '../../components/content/RowsTable.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import classes from './event.module.css';

/** How many passages are shown at first. */
const FIRST_PASSAGES = 40;

/** The changed passages word by word, with some context. */
export function TextHunks({ hunks }: { hunks: readonly Hunk[] }) {
  const [showsAll, setShowsAll] = useState(false);
  if (hunks.length === 0) return null;
  const shown = showsAll ? hunks : hunks.slice(0, FIRST_PASSAGES);
  const unseen = unchangedBefore(shown);
  return (
    <>
      {/* A long diff scrolls in its own box, which must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.box} aria-label="Changed passages" tabIndex={0}>
        {shown.map((hunk, index) => (
          <Fragment key={`${hunk.from_line} ${hunk.to_line} ${index}`}>
            <p className={`${classes.place} cluster stretch between gap-4 muted tiny numeric`}>
              <span>{hunkPlace(hunk)}</span>
              {(unseen[index] ?? 0) > 0 && <span>{countOf(unseen[index] ?? 0, 'unchanged line')} above</span>}
            </p>
            <div className={`${classes.text} compact keep-lines wrap-anywhere`}>
              {hunk.parts.map((part, at) => (
                // Parts have no identity, and their order is fixed.
                <Part key={at} part={part} />
              ))}
            </div>
          </Fragment>
        ))}
      </section>
      {shown.length < hunks.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(hunks.length)} passages
          </Button>
        </p>
      )}
    </>
  );
}

function Part({ part: { op, text } }: { part: TextPart }) {
  if (op === 'added') return <ins>{visibleText(text)}</ins>;
  if (op === 'removed') return <del>{visibleText(text)}</del>;
  return <span>{text}</span>;
}

const FIRST_VALUES = 60;

/** The changed values by JSON Pointer, before and after. */
export function JsonChanges({ changes }: { changes: readonly JsonChange[] }) {
  const [showsAll, setShowsAll] = useState(false);
  if (changes.length === 0) return null;
  const shown = showsAll ? changes : changes.slice(0, FIRST_VALUES);
  return (
    <>
      {/* A long list scrolls in its own box, which must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={`${classes.changes} ${classes.box} small`} aria-label="Changed values" tabIndex={0}>
        <ul className="plain">
          {shown.map((change) => (
            <li key={`${change.op} ${change.pointer} ${change.from_pointer}`}>
              <p className="line baseline gap-3 wrap-anywhere">
                <span className={`${classes.op} rigid muted tiny`}>{change.op}</span>
                {change.op === 'moved' ? (
                  <code>
                    {change.from_pointer} <span className="muted">→</span> {nameOf(change.pointer)}
                  </code>
                ) : (
                  <code>{nameOf(change.pointer)}</code>
                )}
              </p>
              <p className={`${classes.values} items-start keep-lines`}>
                {change.before && <del>{textOf(change.before)}</del>}
                {change.after && <ins>{textOf(change.after)}</ins>}
              </p>
            </li>
          ))}
        </ul>
      </section>
      {shown.length < changes.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(changes.length)} values
          </Button>
        </p>
      )}
    </>
  );
}

/** The pointer to the whole document is the empty string. */
function nameOf(pointer: string): string {
  return pointer === '' ? '(whole document)' : pointer;
}

function textOf({ json, cut }: NonNullable<JsonChange['before']>): string {
  return cut ? `${json}…` : json;
}

const FIRST_ROWS = 60;

interface TableDiffProps {
  header: TableParts['header'];
  rows: readonly TableRow[];
  /** The column by which rows were matched; null if they were matched by position. */
  keyColumn: string | null;
}

/** The changed rows as a table: all cells of an added or removed row, and the changed cells of other rows. */
export function TableDiff({ header, rows, keyColumn }: TableDiffProps) {
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? rows : rows.slice(0, FIRST_ROWS);
  const columns = columnsOf(header, shown, keyColumn);
  if (shown.length === 0) return null;
  return (
    <>
      {/* The table scrolls, so it must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className={classes.box} aria-label="Changed rows" tabIndex={0}>
        <table className={`${classes.table} cells`}>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {keyColumn !== null && <th scope="col">{keyColumn}</th>}
              {columns.map((column) => (
                <th key={column} scope="col">
                  <HeaderCell column={column} header={header} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={`${row.op} ${row.from_row} ${row.to_row}`} data-op={row.op}>
                <th scope="row" className="muted regular nowrap">
                  {row.op} <span className="numeric">{row.to_row ?? row.from_row}</span>
                </th>
                {keyColumn !== null && <td>{row.key}</td>}
                {columns.map((column) => (
                  <td key={column}>
                    <Cell cell={row.cells.find((cell) => cell.column === column)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="muted small">
        {keyColumn === null
          ? 'Rows are compared by position because no column identifies them.'
          : `Rows are matched by the column “${keyColumn}”.`}{' '}
        Columns without differences are hidden.
      </p>
      {shown.length < rows.length && (
        <p>
          <Button variant="default" size="xs" onClick={() => setShowsAll(true)}>
            Show all {formatCount(rows.length)} rows
          </Button>
        </p>
      )}
    </>
  );
}

/** The columns of both versions, in the newer order, in which a shown row has a value. */
function columnsOf(
  { from, to }: TableDiffProps['header'],
  rows: readonly TableRow[],
  key: string | null,
): string[] {
  const shown = new Set(rows.flatMap(({ cells }) => cells.map(({ column }) => column)));
  const all = new Set([...to, ...from, ...shown]);
  return [...all].filter((column) => shown.has(column) && column !== key);
}

function HeaderCell({ column, header: { from, to } }: { column: string } & Pick<TableDiffProps, 'header'>) {
  if (!from.includes(column)) return <ins>{column}</ins>;
  if (!to.includes(column)) return <del>{column}</del>;
  return column;
}

function Cell({ cell }: { cell: TableRow['cells'][number] | undefined }) {
  if (!cell) return null;
  return (
    <>
      {cell.before !== null && cell.before !== '' && <del>{cell.before}</del>}
      {cell.after !== null && cell.after !== '' && <ins>{cell.after}</ins>}
    </>
  );
}

type Image = Extract<AnyDiff, { kind: 'image' }>;

/** Both versions side by side, with a box around all differences. */
export function ImageDiff({ diff }: { diff: Image }) {
  const { from, to, size, box, region } = diff;
  // The objects of an event are served by the collection, the files of packs by the archive.
  const route = 'event' in diff ? 'readObject' : 'readBlob';
  const [marks, setMarks] = useState(true);
  const shownBox = marks ? box : null;
  return (
    <div className="stack gap-3">
      <div className="stack columns gap-3 start">
        <ImageSide title="Before" side={from} size={size.from} box={shownBox} region={region} route={route} />
        <ImageSide title="After" side={to} size={size.to} box={shownBox} region={region} route={route} />
      </div>
      {box && (
        <Switch
          size="xs"
          label={`Highlight differences: ${dimensions(box)} at ${box.x}, ${box.y}`}
          checked={marks}
          onChange={({ currentTarget }) => setMarks(currentTarget.checked)}
        />
      )}
    </div>
  );
}

interface ImageSideProps {
  title: string;
  side: DiffSide;
  size: ImageParts['size']['from'];
  box: ImageParts['box'];
  region: ImageParts['region'];
  route: 'readObject' | 'readBlob';
}

function ImageSide(props: ImageSideProps) {
  const { title, side, size } = props;
  return (
    <figure className="stack gap-1">
      <Picture {...props} />
      <figcaption className="small muted">
        {title}: {dimensions(size)}, {formatBytes(side.bytes)}
      </figcaption>
    </figure>
  );
}

/** Only formats that a browser decodes to pixels are shown, so nothing can run. */
function Picture({ title, side, size, box, region, route }: ImageSideProps) {
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken || previewKind('', side.content_type ?? '') !== 'image') {
    return <p className={`${classes.none} muted small`}>The image cannot be displayed. Download it below.</p>;
  }
  if (side.bytes > MAX_IMAGE_BYTES) {
    return (
      <p className={`${classes.none} muted small`}>The image is too large to display. Download it below.</p>
    );
  }
  const shown = {
    src: ticketed(urlOf(route, { params: { sha256: side.sha256 } })),
    alt: `${title}, ${dimensions(size)}`,
    onError: () => setIsBroken(true),
  };
  return (
    <div className={classes.comparedPicture}>
      {region ? (
        <PictureCut {...shown} region={region} />
      ) : (
        <img {...shown} width={size.width} height={size.height} alt={shown.alt} />
      )}
      {box && <span className={classes.region} style={boxStyle(box, size)} aria-hidden />}
    </div>
  );
}

function boxStyle(box: NonNullable<ImageParts['box']>, { width, height }: ImageSideProps['size']) {
  const share = (part: number, whole: number) => `${(part / whole) * 100}%`;
  return {
    left: share(box.x, width),
    top: share(box.y, height),
    width: share(box.width, width),
    height: share(box.height, height),
  };
}

/** The bytes around the first difference in hex, with the different bytes highlighted. */
export function ByteDiff({ around }: { around: NonNullable<ByteParts['around']> }) {
  const { offset, from, to } = around;
  return (
    <div className={`${classes.bytes} ${classes.box} stack gap-2`}>
      <p className="small muted">First difference at byte {formatCount(offset)}, in hexadecimal:</p>
      <HexSide title="Before" own={from} other={to} mark="del" />
      <HexSide title="After" own={to} other={from} mark="ins" />
    </div>
  );
}

interface HexSideProps {
  title: string;
  own: string;
  other: string;
  mark: 'ins' | 'del';
}

function HexSide({ title, own, other, mark: Mark }: HexSideProps) {
  return (
    <div className={`${classes.hexSide} stack gap-2`}>
      <span className={`${classes.hexTitle} tiny muted`}>{title}</span>
      <code className={`${classes.hex} cluster stretch gap-2`}>
        {own === '' && <span className="muted">end of file</span>}
        {hexBytes(own, other).map(({ hex, differs }, index) =>
          // Bytes have no identity, and their positions are fixed.
          differs ? <Mark key={index}>{hex}</Mark> : <span key={index}>{hex}</span>,
        )}
      </code>
    </div>
  );
}
