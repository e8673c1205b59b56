import { Link, useParams } from 'react-router';
import type { HandInDetails } from '../../../../shared/collection/handedIn.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectDigest, ObserverText } from '../../components/content/Retrieval.tsx';
import { Facts, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemPage, Page, Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes, viewPath } from '../../format.ts';
import { PagePicture } from '../captures/PagePicture.tsx';
import { ObjectContent } from '../view/ObjectContent.tsx';
import { ArchivedPage } from '../view/ViewPage.tsx';
import classes from './HandedIn.module.css';
import { KIND_WORDS } from './handIn.ts';

/** What a person handed in: as it looked, beside what the public got at the same time, if that was asked for. */
export default function HandInPage() {
  const { id = '' } = useParams();
  const query = useCall('readHandedIn', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="File"
      list={{ to: '/handed-in', label: 'Handed in' }}
      missing="Nothing with this id was handed in."
    >
      {(handIn) => <HandedIn key={handIn.id} handIn={handIn} />}
    </ItemPage>
  );
}

function HandedIn({ handIn }: { handIn: HandInDetails }) {
  const { url, title, note, observer, seen_at, handed_in_at, kind, file, document, parts, source } = handIn;
  const { picture } = handIn;
  const broken = parts.filter(({ sha256 }) => sha256 === null).length;
  return (
    <Page
      title={title ?? url}
      lead={
        <>
          <ObserverText observer={observer} />
          {note !== null && <> {note}</>}
        </>
      }
    >
      <Facts
        layout="columns"
        facts={{
          Address: <span className="wrap-anywhere">{url}</span>,
          Seen: <TimeText at={seen_at} show="exact" />,
          'Handed in': <TimeText at={handed_in_at} show="exact" />,
          File: `${KIND_WORDS[kind]}, ${formatBytes(file.bytes)}`,
          'Digest of the file': <ObjectDigest sha256={file.sha256} label="digest of the file" />,
          Parts: parts.length > 1 && countOf(parts.length, 'part'),
          'Not readable': broken > 0 && `${countOf(broken, 'part')} could not be decoded`,
          Visitors: handIn.withheld ? 'do not see it' : 'see it',
          Source: <Link to={`/sources/${source}`}>All versions of this address</Link>,
        }}
      />
      {handIn.page_error !== null && (
        <p className="warn">What the public gets could not be drawn: {handIn.page_error}</p>
      )}
      {handIn.comparison ? (
        <Comparison handIn={handIn} comparison={handIn.comparison} />
      ) : (
        <Section title="What you saw">
          <Seen handIn={handIn} />
        </Section>
      )}
      {picture && (
        <Section title="What was visible">
          <SeenObject handIn={handIn} sha256={picture.sha256} />
        </Section>
      )}
      <p className="small">
        <Link to={viewPath({ sha256: document, source, at: seen_at })}>Open it by itself</Link>
      </p>
    </Page>
  );
}

/** The document as it looked, with the parts of its file. Nothing in it runs. */
function Seen({ handIn }: { handIn: HandInDetails }) {
  return <SeenObject handIn={handIn} sha256={handIn.document} />;
}

/** An object of what was handed in, as it looked. */
function SeenObject({ handIn: { source, seen_at }, sha256 }: { handIn: HandInDetails; sha256: string }) {
  const selected = { params: { sha256 }, query: { source, at: seen_at } };
  const { data: view, error, refetch } = useCall('readObjectView', selected);
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!view) return <p className="muted">Loading…</p>;
  return view.kind === 'html' ? <ArchivedPage view={view} /> : <ObjectContent view={view} />;
}

interface ComparisonProps {
  handIn: HandInDetails;
  comparison: NonNullable<HandInDetails['comparison']>;
}

function Comparison({ handIn, comparison }: ComparisonProps) {
  const { page, shared, only_handed_in, only_public, truncated } = comparison;
  return (
    <>
      <div className={classes.sides}>
        <Section title="What you saw">
          <Seen handIn={handIn} />
        </Section>
        <Section title="What the public gets">
          <p className="small muted">
            Drawn by this node, without your login, <TimeText at={page.started_at} />.{' '}
            <Link to={`/pages/${page.id}`}>Page capture</Link>
          </p>
          <PagePicture page={page.id} alt={`Picture of ${page.title || page.url} as the public gets it`} />
        </Section>
      </div>
      <Section title="What both have">
        <p className="muted">
          {countOf(shared.length, 'block')} of text {shared.length === 1 ? 'is' : 'are'} in both.{' '}
          {countOf(only_handed_in, 'block')} only you saw, {countOf(only_public, 'block')} only the public
          gets.
          {truncated && ' Only the beginning of the texts was compared.'}
        </p>
        <ul className={`${classes.shared} stack gap-1 scroll`} aria-label="Blocks of text that both have">
          {shared.map((block) => (
            <li key={block}>{block}</li>
          ))}
        </ul>
      </Section>
    </>
  );
}
