import { Button } from '@mantine/core';
import {
  IconAlertTriangle,
  IconArrowLeft,
  IconArrowRight,
  IconArrowsDiff,
  IconCircleCheck,
  IconClick,
  IconDownload,
  IconPhotoScan,
} from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { ArchivedDraw, PageCapture } from '../../../../shared/collection/page.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { CiteButton } from '../../components/content/Citation.tsx';
import { Withheld } from '../../components/content/Withheld.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, IconLink } from '../../components/forms/buttons.tsx';
import { ItemPage, Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { useHidden } from '../../state/withheld.ts';
import classes from './captures.module.css';
import { MissingRequests } from './FetchMissing.tsx';
import { PageFacts, PageTabs, PageWarnings } from './PageDetails.tsx';
import { PagePicture, picturePath } from './PagePicture.tsx';
import { answersOf, comparePath, isMissing, useNeighbours } from './pageCapture.ts';

/** A page as a browser drew it: its picture, where that comes from, and what it consists of. */
export default function CapturePage() {
  const { id = '' } = useParams();
  const query = useCall('readPage', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Page capture"
      list={{ to: '/sources', label: 'Sources' }}
      missing="This archive has no such page capture."
    >
      {(page) => ('retrieval' in page ? <ShownCapture key={page.id} page={page} /> : null)}
    </ItemPage>
  );
}

function ShownCapture({ page }: { page: PageCapture }) {
  const draw = useSave('drawPage', () => ({ params: { id: page.id } }));
  return (
    <Page
      title={page.title || page.url}
      lead={<CaptureLead page={page} />}
      actions={<CaptureActions page={page} draw={draw} />}
    >
      <div className={classes.withheld}>
        <Withheld target={{ page: page.id }} what="this page capture" />
      </div>
      <PageWarnings page={page} />
      {draw.isPending && (
        <output className="block mb-4 muted small">
          Drawing from the archive alone. Nothing is fetched. This can take up to half a minute.
        </output>
      )}
      {draw.error && <ErrorNote error={draw.error} onRetry={() => draw.mutate()} />}
      <div className={classes.overview}>
        {draw.data && !draw.isPending ? (
          <DrawnAgain draw={draw.data} capture={page} onFetched={() => draw.mutate()} />
        ) : (
          <PagePicture page={page.id} alt={`Picture of ${page.title || page.url}`} />
        )}
        <PageFacts page={page} />
      </div>
      <PageTabs page={page} />
    </Page>
  );
}

function CaptureLead({ page }: { page: PageCapture }) {
  return (
    <span className={classes.lead}>
      <a href={page.url} target="_blank" rel="noopener noreferrer nofollow" className="wrap-anywhere">
        {page.url}
      </a>
      <span>
        as a person saw it <TimeText at={page.started_at} />
      </span>
      <Link to={`/sources/${page.source}`}>Source</Link>
    </span>
  );
}

interface CaptureActionsProps {
  page: PageCapture;
  draw: { mutate: () => void; isPending: boolean };
}

function CaptureActions({ page, draw }: CaptureActionsProps) {
  const isOwner = useIsOwner();
  const { older, newer } = useNeighbours(page);
  const isReadable = useHidden({ page: page.id }) === null;
  return (
    <>
      {older && (
        <IconLink icon={IconArrowLeft} to={`/pages/${older}`}>
          Older
        </IconLink>
      )}
      {newer && (
        <Button
          component={Link}
          to={`/pages/${newer}`}
          variant="default"
          rightSection={<IconArrowRight size={16} aria-hidden />}
        >
          Newer
        </Button>
      )}
      <CiteButton item={page.id} />
      {isReadable && (
        <Button
          component="a"
          href={picturePath(page.id)}
          download={`${page.id}.png`}
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          Picture
        </Button>
      )}
      {isOwner && isReadable && (
        <IconLink icon={IconClick} to={`/sources/${page.source}?choose=page`}>
          Watch a part
        </IconLink>
      )}
      {isOwner && (
        <IconButton icon={IconPhotoScan} loading={draw.isPending} onClick={() => draw.mutate()}>
          Draw again from the archive
        </IconButton>
      )}
      {older && (
        <Button
          component={Link}
          to={comparePath(older, page.id)}
          leftSection={<IconArrowsDiff size={16} aria-hidden />}
        >
          Compare with the previous capture
        </Button>
      )}
    </>
  );
}

interface DrawnAgainProps {
  draw: ArchivedDraw;
  /** The page capture that was drawn again. */
  capture: PageCapture;
  onFetched: () => void;
}

/** A capture beside what the archive alone gave just now, and what that shows. */
function DrawnAgain({ draw, capture, onFetched }: DrawnAgainProps) {
  // What the capture itself got no answer to is not missing.
  const unanswered = new Set(capture.requests.filter(({ reason }) => reason !== null).map(({ url }) => url));
  const missing = draw.requests.filter((request) => isMissing(request) && !unanswered.has(request.url));
  return (
    <section className={`${classes.again} shrink`} aria-label="Drawn again from the archive">
      <h2>Drawn again from the archive</h2>
      <Verdict draw={draw} />
      <div className={classes.pair}>
        <figure>
          <figcaption className="small muted">Captured</figcaption>
          <PagePicture page={capture.id} alt="The page when it was captured" />
        </figure>
        <figure>
          <figcaption className="small muted">
            Drawn now, <Link to={`/draws/${draw.id}?tab=requests`}>from {answersOf(draw.requests)}</Link>
          </figcaption>
          <PagePicture page={draw.id} alt="The page as it was drawn now" />
        </figure>
      </div>
      <MissingRequests requests={missing} onFetched={onFetched} />
    </section>
  );
}

function Verdict({ draw }: Pick<DrawnAgainProps, 'draw'>) {
  const { same_picture, same_text, differences } = draw;
  const isSame = same_picture === true && same_text === true;
  const Icon = isSame ? IconCircleCheck : IconAlertTriangle;
  return (
    <output className={classes.verdict} data-same={isSame || undefined}>
      <Icon size={20} aria-hidden />
      <div className="stack gap-1">
        <p>
          <strong>
            {same_picture ? 'Same picture' : 'Different picture'},{' '}
            {same_text ? 'same text' : 'different text'}.
          </strong>{' '}
          {isSame
            ? 'This proves that the picture can be reproduced from the archived bytes alone. Nothing was fetched.'
            : 'It was drawn from the archived bytes alone. Nothing was fetched.'}
        </p>
        {differences.length > 0 && (
          <ul className="bullets small">
            {differences.map((sentence) => (
              <li key={sentence} className="wrap-anywhere">
                {sentence}
              </li>
            ))}
          </ul>
        )}
      </div>
    </output>
  );
}
