import { useState } from 'react';
import type { MissingResource, ObjectView, PageResources } from '../../../../shared/collection/view.ts';
import { ApiProblem, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectText } from '../../components/content/object/ObjectText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format/size.ts';
import classes from './ViewPage.module.css';

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
    <div className={classes.page}>
      <ResourceNote resources={resources} />
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
  return (
    <>
      {!isLoaded && <output className="muted small">Loading the page…</output>}
      <iframe
        title={title}
        className={classes.frame}
        src={url}
        sandbox="allow-top-navigation-by-user-activation"
        referrerPolicy="no-referrer"
        onLoad={() => setIsLoaded(true)}
      />
    </>
  );
}

/** Says what the page consists of, and lists what is not in the archive. */
function ResourceNote({ resources: { used, missing, truncated } }: { resources: PageResources }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className={classes.note}>
      <p className="small muted">
        Scripts and forms are removed.{' '}
        {used.length > 0 &&
          `${countOf(used.length, 'style or image', 'styles and images')} from this archive. `}
        {missing.length === 0 && used.length > 0 && 'All resources are shown. '}
        {truncated && 'The page is too long: its end is not shown. '}
        {missing.length > 0 && (
          <button
            type="button"
            className={classes.missingToggle}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {countOf(missing.length, 'resource')} not shown
          </button>
        )}
      </p>
      {isOpen && (
        <ul className={classes.missing} aria-label="Resources that are not shown">
          {missing.map(({ url, reason }) => (
            <li key={url}>
              <code className="wrap-anywhere">{url}</code> <span className="muted">{REASONS[reason]}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const REASONS: Readonly<Record<MissingResource['reason'], string>> = {
  not_held: 'not in the archive',
  too_large: 'too large to show in the page',
  unreadable: 'cannot be read',
};
