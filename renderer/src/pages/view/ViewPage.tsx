import { useParams, useSearchParams } from 'react-router';
import type { ObjectView } from '../../../../shared/collection/view.ts';
import { ApiProblem } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { FindingsSection } from '../../components/content/findings/FindingsSection.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { ArchivedPage } from './ArchivedPage.tsx';
import { ObjectContent } from './ObjectContent.tsx';
import { ViewActions } from './ViewActions.tsx';
import { ViewFacts } from './ViewFacts.tsx';
import classes from './ViewPage.module.css';

/** The codes of an address that names no object of this archive. */
const UNKNOWN: ReadonlySet<string> = new Set(['not_found', 'invalid_digest', 'invalid_parameter']);

/** Shows an archived object as what it is, with where and when it comes from. */
export default function ViewPage() {
  const { sha256 = '' } = useParams();
  const [search] = useSearchParams();
  const query = { source: search.get('source') ?? undefined, at: search.get('at') ?? undefined };
  const { data: view, error, refetch } = useCall('readObjectView', { params: { sha256 }, query });
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

function UnknownObject({ sha256 }: { sha256: string }) {
  return (
    <Page title="View">
      <EmptyState title="Object not found">
        This archive has no such capture of an object with the digest{' '}
        <span className="mono wrap-anywhere">{sha256}</span>.
      </EmptyState>
    </Page>
  );
}
