import { lazy, Suspense, useMemo } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { JsonContent } from '../../components/content/json/JsonContent.tsx';
import { RowsTable } from '../../components/content/preview/RowsTable.tsx';
import { TextBox } from '../../components/content/preview/TextBox.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { formatCount } from '../../format/size.ts';
import classes from './ViewPage.module.css';

const Markdown = lazy(async () => ({
  default: (await import('../../components/content/Markdown.tsx')).Markdown,
}));

/** How much text is shown. */
const SHOWN_CHARACTERS = 300_000;

interface DerivedContentProps {
  sha256: string;
  kind: 'markdown' | 'csv' | 'json' | 'text';
  /** The address that relative links refer to. */
  base: string;
}

/** An object that is shown by its text, which the node has decoded. */
export function DerivedContent({ sha256, kind, base }: DerivedContentProps) {
  const { data, error, refetch } = useCall('readObjectText', { params: { sha256 } });
  if (error instanceof ApiProblem && error.document.code === 'not_derivable')
    return <p className="muted">{error.message}</p>;
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <output className="muted">Loading…</output>;
  if (kind === 'json' && !data.truncated)
    return (
      <div className={classes.stack}>
        <JsonContent text={data.text} label={LABEL} asText={(text) => <PlainText text={text} />} />
      </div>
    );
  if (kind !== 'csv' && kind !== 'markdown')
    return (
      <div className={classes.stack}>
        <PlainText text={data.text} isCut={data.truncated} />
      </div>
    );
  const isWhole = data.text.length <= SHOWN_CHARACTERS && !data.truncated;
  const text = data.text.slice(0, SHOWN_CHARACTERS);
  return (
    <div className={classes.stack}>
      {kind === 'csv' && data.kind === 'csv' ? (
        <Rows text={text} isWhole={isWhole} />
      ) : kind === 'csv' ? (
        <PlainText text={data.text} isCut={data.truncated} />
      ) : (
        <Suspense fallback={<p className="muted">Loading…</p>}>
          <div className={classes.sheet}>
            <h2 className="visually-hidden">Content</h2>
            <Markdown text={text} base={base} />
          </div>
        </Suspense>
      )}
      {!isWhole && (kind === 'markdown' || data.kind === 'csv') && <Cut characters={text.length} />}
    </div>
  );
}

const LABEL = 'Content of the object';

/** The beginning of a text. `isCut`: the text itself is the beginning of a longer one. */
function PlainText({ text, isCut = false }: { text: string; isCut?: boolean }) {
  const shown = text.slice(0, SHOWN_CHARACTERS);
  return (
    <>
      <TextBox text={shown} label={LABEL} isBounded />
      {(isCut || shown.length < text.length) && <Cut characters={shown.length} />}
    </>
  );
}

function Cut({ characters }: { characters: number }) {
  return (
    <p className="muted small">
      The first {formatCount(characters)} characters are shown. Download the object to see all of it.
    </p>
  );
}

/** The node writes a row per line, with cells separated by tabs. */
function Rows({ text, isWhole }: { text: string; isWhole: boolean }) {
  const rows = useMemo(() => text.split('\n').map((line) => line.split('\t')), [text]);
  return <RowsTable rows={rows} isWhole={isWhole} />;
}
