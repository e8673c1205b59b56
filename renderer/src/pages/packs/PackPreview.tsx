import { Button, Spoiler } from '@mantine/core';
import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { Markdown } from '../../components/content/Markdown.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes } from '../../format/size.ts';
import { PackFacts } from './PackFacts.tsx';
import { PackAuthors, PackBadges } from './PackHeader.tsx';
import classes from './PackPreview.module.css';
import { PackResults } from './PackResults.tsx';

const MAX_RESULTS = 12;

/** A short view of a pack next to the list. */
export function PackPreview({ id }: { id: string }) {
  const pack = useCall('readPack', { params: { id } }, { keepPrevious: true });
  if (pack.error) return <ErrorNote error={pack.error} onRetry={() => void pack.refetch()} />;
  if (!pack.data) return <p className="muted">Loading…</p>;
  const { title, authors, summary, results, files, evidence } = pack.data;
  const shown = Object.entries(results).slice(0, MAX_RESULTS);
  const more = Object.keys(results).length - shown.length;
  return (
    <div className={classes.pane}>
      <h2>
        <Link to={`/packs/${id}`}>{title}</Link>
      </h2>
      <PackAuthors authors={authors.slice(0, 6)} />
      <PackBadges pack={pack.data} />
      {summary && (
        <Spoiler maxHeight={200} showLabel="Show full summary" hideLabel="Show less">
          <Markdown text={summary} />
        </Spoiler>
      )}
      {shown.length > 0 && <PackResults results={Object.fromEntries(shown)} />}
      {more > 0 && <p className="muted small">{countOf(more, 'more result')}</p>}
      <p>
        {countOf(files.length, 'file')}, {formatBytes(evidence.bytes)}
      </p>
      <Button component={Link} to={`/packs/${id}`} variant="default">
        Open pack
      </Button>
      <PackFacts pack={pack.data} />
    </div>
  );
}
