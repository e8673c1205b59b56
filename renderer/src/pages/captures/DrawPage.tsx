import { Link, useNavigate, useParams } from 'react-router';
import type { ArchivedDraw } from '../../../../shared/collection/page.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemPage, Page } from '../../components/layout/Page.tsx';
import classes from './captures.module.css';
import { MissingRequests } from './FetchMissing.tsx';
import { PageFacts, PageTabs, PageWarnings } from './PageDetails.tsx';
import { PagePicture } from './PagePicture.tsx';
import { isMissing } from './pageCapture.ts';

/** A page that was drawn from the archive alone. The node keeps it for an hour. */
export default function DrawPage() {
  const { id = '' } = useParams();
  const query = useCall('readPage', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Drawing"
      list={{ to: '/sources', label: 'Sources' }}
      missing="A drawing from the archive is kept for one hour, and only the owner can see it. Draw the version again."
    >
      {(page) => ('at' in page ? <ShownDraw key={page.id} draw={page} /> : null)}
    </ItemPage>
  );
}

function ShownDraw({ draw }: { draw: ArchivedDraw }) {
  const navigate = useNavigate();
  const again = useSave('drawUrl', () => ({ body: { url: draw.url, at: draw.at } }), {
    onSaved: ({ id }) => void navigate(`/draws/${id}`, { replace: true }),
  });
  const missing = draw.requests.filter(isMissing);
  return (
    <Page
      title={draw.title || draw.url}
      lead={
        <span className={classes.lead}>
          <span className="wrap-anywhere">{draw.url}</span>
          <span>
            as it looked <TimeText at={draw.at} show="exact" />
          </span>
          {draw.source && <Link to={`/sources/${draw.source}`}>Source</Link>}
        </span>
      }
    >
      <p className="mb-4 muted">
        Drawn from the archive alone, including scripts. Nothing was fetched. Each request was answered with
        the capture nearest to that time. This drawing is kept for one hour and is not in the ledger.
      </p>
      <PageWarnings page={draw} />
      {again.isPending && <output className="muted">Drawing again with what was fetched…</output>}
      {again.error && <ErrorNote error={again.error} onRetry={() => again.mutate()} />}
      <div className={classes.overview}>
        <PagePicture page={draw.id} alt={`Picture of ${draw.title || draw.url}`} />
        <PageFacts page={draw} />
      </div>
      <MissingRequests requests={missing} onFetched={() => again.mutate()} />
      <PageTabs page={draw} />
    </Page>
  );
}
