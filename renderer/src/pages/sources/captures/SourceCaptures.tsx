import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { ListedPage } from '../../../../../shared/collection/page.ts';
import { PAGE_ERROR_SENTENCES } from '../../../../../shared/collection/retrievalWords.ts';
import { useCall } from '../../../api/useCall.ts';
import { PageThumbnail } from '../../../components/content/PagePictures.tsx';
import { TimeText } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Page.tsx';
import classes from '../../captures/captures.module.css';
import { comparePath, pictureChangeWords } from '../../captures/pageCapture.ts';
import type { VisibleSource } from '../useSources.ts';

const FIRST = 10;
const MORE = 40;
const MAX = 499;
const REFRESH_MS = 15_000;

/** The captures of a source's page. Nothing for a source of which only the file is kept. */
export function SourceCaptures({ source }: { source: VisibleSource }) {
  if (source.capture === 'object' && source.last_page === null) return null;
  return <Captures source={source} />;
}

/** The captures, newest first, each with its picture, and why the last page could not be drawn. */
function Captures({ source }: { source: VisibleSource }) {
  const [shown, setShown] = useState(FIRST);
  const { data, error, refetch } = useCall(
    'listPages',
    // One more, which the oldest shown one is compared with.
    { query: { source: source.id, limit: shown + 1 } },
    { keepPrevious: true, refetchInterval: REFRESH_MS },
  );
  const pages = data?.items ?? [];
  return (
    <Section title="As a person sees it">
      {source.page_error && (
        <output className={classes.warning}>
          <IconAlertTriangle size={18} aria-hidden />
          <p className="small">
            {PAGE_ERROR_SENTENCES[source.page_error]} The file itself is collected as before.
          </p>
        </output>
      )}
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data && pages.length === 0 && !source.page_error && (
        <p className="muted">
          No captures yet. The next check that retrieves an HTML page captures it, with its picture and its
          text.
        </p>
      )}
      {pages.length > 0 && (
        <ul className={`${classes.cards} plain`} aria-label="Page captures, newest first">
          {pages.slice(0, shown).map((page, index) => (
            <li key={page.id} className={classes.card}>
              <CaptureCard page={page} before={pages[index + 1]?.id} />
            </li>
          ))}
        </ul>
      )}
      {pages.length > shown && shown < MAX && (
        <Button variant="default" size="xs" onClick={() => setShown(Math.min(MAX, shown + MORE))}>
          Show older captures
        </Button>
      )}
    </Section>
  );
}

function CaptureCard({ page, before }: { page: ListedPage; before: string | undefined }) {
  return (
    <>
      <Link to={`/pages/${page.id}`}>
        <PageThumbnail page={page.id} alt="" size="card" />
        <TimeText at={page.started_at} />
      </Link>
      <span className="small muted">{pictureChangeWords(page)}</span>
      {page.reason && <span className="small warn">cut off</span>}
      {before && page.picture_changed !== null && (
        <Link to={comparePath(before, page.id)} className="small">
          Compare<span className="visually-hidden"> with the previous capture</span>
        </Link>
      )}
    </>
  );
}
