import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconArrowLeft, IconArrowRight, IconDownload, IconPhotoScan } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { BROWSER, isHandedIn } from '../../../../shared/collection/observers.ts';
import type {
  MissingResource,
  ObjectView,
  PageResources,
  ViewQuery,
} from '../../../../shared/collection/view.ts';
import { isHttpUrl } from '../../../../shared/values/text.ts';
import { ApiProblem, urlOf } from '../../api/client.ts';
import { ticketed } from '../../api/ownerSession.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { CiteButton } from '../../components/content/Citation.tsx';
import { FindingsSection } from '../../components/content/Findings.tsx';
import { ObjectRetrievals, ObjectText } from '../../components/content/ObjectCard.tsx';
import { ObjectDigest, ObserverText } from '../../components/content/Retrieval.tsx';
import { useObjectName, Withheld } from '../../components/content/Withheld.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { describeError, EmptyState, ErrorNote, NotShown } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, IconLink } from '../../components/forms/buttons.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes, viewPath } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { type Hidden, useHidden } from '../../state/withheld.ts';
import { FetchMissing } from '../captures/FetchMissing.tsx';
import { ObjectContent } from './ObjectContent.tsx';
import classes from './ViewPage.module.css';

/** The codes of an address that names no object of this archive, or one whose bytes never came. */
const UNKNOWN: ReadonlySet<string> = new Set(['not_found', 'invalid_digest', 'invalid_parameter']);

/** Shows an archived object as what it is, with where and when it comes from. */
export default function ViewPage() {
  const { sha256 = '' } = useParams();
  const [search] = useSearchParams();
  const query = { source: search.get('source') ?? undefined, at: search.get('at') ?? undefined };
  const hidden = useHidden({ sha256 });
  const {
    data: view,
    error,
    refetch,
  } = useCall('readObjectView', { params: { sha256 }, query }, { enabled: hidden === null });
  if (hidden) return <HiddenObject sha256={sha256} retrieval={query} hidden={hidden} />;
  if (error instanceof ApiProblem && UNKNOWN.has(error.document.code))
    return <UnknownObject sha256={sha256} />;
  if (error) {
    return (
      <Page title="View">
        <ErrorNote error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!view) {
    return (
      <Page title="View">
        <p className="muted">Loading…</p>
      </Page>
    );
  }
  return (
    <Page title={titleOf(view)} lead={<ViewFacts view={view} />} actions={<ViewActions view={view} />}>
      <div className={classes.withheld}>
        <Withheld target={{ sha256 }} what="this object" />
      </div>
      {view.kind === 'html' ? <ArchivedPage view={view} /> : <ObjectContent view={view} />}
      <div className={classes.findings}>
        <FindingsSection target={{ kind: 'object', id: sha256 }} objects={[{ sha256, name: 'Object' }]} />
      </div>
    </Page>
  );
}

function titleOf({ source, file_name }: ObjectView): string {
  return source.name || file_name;
}

interface HiddenObjectProps {
  sha256: string;
  retrieval: ViewQuery;
  hidden: Hidden;
}

/** An object whose bytes the person may not read: why, and what the record says. */
function HiddenObject({ sha256, retrieval, hidden }: HiddenObjectProps) {
  const { text, source } = useObjectName(sha256);
  const lead = (
    <span className="cluster gap-4">
      {source !== undefined && <Link to={`/sources/${source}`}>Source</Link>}
      <ObjectDigest sha256={sha256} label="digest of the object" />
    </span>
  );
  return (
    <Page title={text} lead={lead} actions={<CiteButton item={sha256} retrieval={retrieval} />}>
      <div className="stack gap-6">
        <NotShown {...hidden} />
        <Section title="Record">
          <ObjectRetrievals sha256={sha256} />
        </Section>
        <FindingsSection target={{ kind: 'object', id: sha256 }} objects={[]} />
      </div>
    </Page>
  );
}

function UnknownObject({ sha256 }: { sha256: string }) {
  return (
    <Page title="View">
      <EmptyState title="Object not found">
        This archive has no such capture of the object with the digest{' '}
        <span className="mono wrap-anywhere">{sha256}</span>, or its bytes are not here.
      </EmptyState>
    </Page>
  );
}

/** Where and when an archived object comes from. */
export function ViewFacts({ view }: { view: ObjectView }) {
  const { source, final_url, observer, observed_at, original_observed_at, event, status } = view;
  return (
    <span className={`${classes.facts} cluster gap-4 stretch compact`}>
      <span className="wrap-anywhere">
        <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
          {source.url}
        </a>
        {final_url !== source.url && <> (redirected to {final_url})</>}
      </span>
      <span>
        Observer: <ObserverText observer={observer} />
      </span>
      {original_observed_at && (
        <span>
          {isHandedIn(observer) ? 'Seen' : 'Captured'} <TimeText at={original_observed_at} show="exact" />
        </span>
      )}
      <span>
        {isHandedIn(observer) ? 'Handed in ' : original_observed_at ? 'Imported ' : 'Retrieved '}
        <TimeText at={observed_at} show="exact" />
      </span>
      {status !== null && status >= 400 && <strong>The server answered {status}.</strong>}
      <span className="cluster inline gap-4">
        <Link to={`/sources/${source.id}`}>Source</Link>
        {event !== null && <Link to={`/timeline/${event}`}>Event {event}</Link>}
        <span>{[view.content_type, formatBytes(view.bytes)].filter(Boolean).join(', ')}</span>
        <ObjectDigest sha256={view.sha256} label="digest of the object" />
      </span>
    </span>
  );
}

/** Leads to the neighbouring versions, and downloads the object under a readable name. */
export function ViewActions({ view }: { view: ObjectView }) {
  const { sha256, file_name, source, older, newer } = view;
  return (
    <>
      {older && (
        <IconLink icon={IconArrowLeft} to={viewPath({ ...older, source: source.id })}>
          Older version
        </IconLink>
      )}
      {newer && (
        <Button
          component={Link}
          to={viewPath({ ...newer, source: source.id })}
          variant="default"
          rightSection={<IconArrowRight size={16} aria-hidden />}
        >
          Newer version
        </Button>
      )}
      {view.kind === 'html' && view.observer !== BROWSER && !isHandedIn(view.observer) && (
        <DrawButton view={view} />
      )}
      <CiteButton item={sha256} retrieval={{ source: source.id, at: view.at }} />
      <Button
        component="a"
        href={urlOf('readObject', { params: { sha256 } })}
        download={file_name}
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
      >
        Download
      </Button>
    </>
  );
}

/** Draws a version of a page as it looked then, with its scripts, from the archive alone. Only for the owner. */
function DrawButton({ view }: { view: ObjectView }) {
  const isOwner = useIsOwner();
  const navigate = useNavigate();
  const draw = useSave('drawUrl', () => ({ body: { url: view.source.url, at: view.at } }), {
    onSaved: ({ id }) => void navigate(`/draws/${id}`),
    onError: (error) =>
      notifications.show({
        title: 'The page could not be drawn',
        message: describeError(error).sentence,
        color: 'red',
        autoClose: false,
      }),
  });
  if (!isOwner) return null;
  return (
    <IconButton icon={IconPhotoScan} loading={draw.isPending} onClick={() => draw.mutate()}>
      Draw
    </IconButton>
  );
}

/**
 * An archived page in a frame of an origin of its own, without scripts. The node has put its styles and images into it, so
 * that the frame loads nothing else. A click on one of its links may open another view in this window.
 */
export function ArchivedPage({ view }: { view: ObjectView }) {
  const selected = { params: { sha256: view.sha256 }, query: { source: view.source.id, at: view.at } };
  const { data: resources, error, refetch } = useCall('readPageResources', selected);
  if (error instanceof ApiProblem && error.document.code === 'not_derivable') {
    return (
      <>
        <p>{error.message} Its text:</p>
        <ObjectText sha256={view.sha256} />
      </>
    );
  }
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!resources) return <output className="muted">Preparing the page…</output>;
  return (
    <div className="stack gap-2">
      <ResourceNote
        resources={resources}
        // A file that was handed in is shown with its own parts only.
        onFetched={isHandedIn(view.observer) ? undefined : () => void refetch()}
      />
      <PageFrame
        key={`${view.sha256} ${view.at}`}
        title={`Archived page: ${resources.title ?? view.file_name}`}
        url={urlOf('readArchivedPage', selected)}
      />
    </div>
  );
}

/** The frame, and a note until the page has loaded: until then the frame is blank. */
function PageFrame({ title, url }: { title: string; url: string }) {
  const [isLoaded, setIsLoaded] = useState(false);
  // The ticket changes with time, and another address would load the page again.
  const src = useMemo(() => ticketed(url), [url]);
  return (
    <>
      {!isLoaded && <output className="muted small">Loading the page…</output>}
      <iframe
        title={title}
        className={`${classes.frame} block full`}
        src={src}
        sandbox="allow-top-navigation-by-user-activation"
        referrerPolicy="no-referrer"
        onLoad={() => setIsLoaded(true)}
      />
    </>
  );
}

interface ResourceNoteProps {
  resources: PageResources;
  /** Runs when the node has fetched what was missing. Without it, nothing can be fetched. */
  onFetched: (() => void) | undefined;
}

/** Says what the page consists of, and lists what is not in the archive. */
function ResourceNote({ resources: { used, missing, truncated }, onFetched }: ResourceNoteProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className="stack gap-2">
      <p className="small muted">
        Scripts, forms and frames are removed.{' '}
        {used.length > 0 &&
          `${countOf(used.length, 'style or image', 'styles and images')} from this archive. `}
        {missing.length === 0 && used.length > 0 && 'All resources are shown. '}
        {truncated && 'The page is too long: its end is not shown. '}
        {missing.length > 0 && (
          <button
            type="button"
            className={`${classes.missingToggle} bare warn`}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {countOf(missing.length, 'resource')} not shown
          </button>
        )}
      </p>
      {isOpen && (
        <>
          <ul className={`${classes.missing} scroll small sheet`} aria-label="Resources that are not shown">
            {missing.map(({ url, reason }) => (
              <li key={url}>
                <code className="wrap-anywhere">{url}</code> <span className="muted">{REASONS[reason]}</span>
              </li>
            ))}
          </ul>
          {onFetched && (
            <FetchMissing
              urls={missing
                .filter(({ url, reason }) => reason === 'not_held' && isHttpUrl(url))
                .map(({ url }) => url)}
              onFetched={onFetched}
            />
          )}
        </>
      )}
    </div>
  );
}

const REASONS: Readonly<Record<MissingResource['reason'], string>> = {
  not_held: 'not in the archive',
  too_large: 'too large to show in the page',
  unreadable: 'cannot be read',
  withheld: 'not shown to visitors',
};
