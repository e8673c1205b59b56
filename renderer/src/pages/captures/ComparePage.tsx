import { Button, SegmentedControl } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link, useParams } from 'react-router';
import type { PageCapture, PageComparison, PageRequest } from '../../../../shared/collection/page.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote, NotShown } from '../../components/feedback/ErrorNote.tsx';
import { ItemPage, Page, Section } from '../../components/layout/Page.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useHidden } from '../../state/withheld.ts';
import { DiffContent } from '../timeline/EventDiff.tsx';
import { StepButton, useShortcuts } from '../timeline/shortcuts.tsx';
import { ComparedPictures, type CompareView } from './ComparedPictures.tsx';
import classes from './captures.module.css';
import { RequestRows } from './PageDetails.tsx';
import { shareText } from './pageCapture.ts';

/** Two captures of a page: what changed in the picture, the text and the requests. */
export default function ComparePage() {
  const { id = '', other = '' } = useParams();
  const hidden = useHidden({ page: id }, { page: other });
  const query = useCall('comparePages', { params: { id, other } }, { enabled: hidden === null });
  if (hidden) {
    return (
      <Page
        title="Compare captures"
        lead={
          <span className="cluster gap-3 small">
            <Link to={`/pages/${id}`}>Before</Link>
            <Link to={`/pages/${other}`}>After</Link>
          </span>
        }
      >
        <NotShown {...hidden} />
      </Page>
    );
  }
  if (query.isPending) {
    return (
      <Page title="Compare captures">
        <output className="muted">Comparing the pictures, the texts and the requests…</output>
      </Page>
    );
  }
  return (
    <ItemPage
      query={query}
      name="Comparison"
      by="address"
      list={{ to: '/sources', label: 'Sources' }}
      missing="One of the two captures is not in this archive."
    >
      {(comparison) => <Comparison key={`${id} ${other}`} comparison={comparison} />}
    </ItemPage>
  );
}

function Comparison({ comparison }: { comparison: PageComparison }) {
  const before = usePage(comparison.before);
  const after = usePage(comparison.after);
  const failed = [before, after].find(({ error }) => error);
  return (
    <Page
      title={after.page ? `What changed: ${after.page.title || after.page.url}` : 'What changed'}
      lead={<CompareLead comparison={comparison} before={before.page} after={after.page} />}
    >
      {failed && <ErrorNote error={failed.error} />}
      {before.page && after.page && (
        <Changes comparison={comparison} before={before.page} after={after.page} />
      )}
      <Section title="Requests">
        <ComparedRequests requests={comparison.requests} />
      </Section>
    </Page>
  );
}

function usePage(id: string): { page: PageCapture | undefined; error: Error | null } {
  const { data, error } = useCall('readPage', { params: { id } });
  return { page: data && 'retrieval' in data ? data : undefined, error };
}

interface CompareLeadProps {
  comparison: PageComparison;
  before: PageCapture | undefined;
  after: PageCapture | undefined;
}

function CompareLead({ comparison, before, after }: CompareLeadProps) {
  return (
    <span className="stack gap-1">
      <span>{summaryOf(comparison)}</span>
      {before && after && (
        <span className="cluster gap-3 small">
          <CaptureLink name="Before" page={before} />
          <span className="line inline gap-3">
            <span aria-hidden>→</span>
            <CaptureLink name="After" page={after} />
          </span>
          <Link to={`/sources/${after.source}`}>Source</Link>
        </span>
      )}
    </span>
  );
}

function CaptureLink({ name, page }: { name: string; page: PageCapture }) {
  return (
    <Link to={`/pages/${page.id}`}>
      {name}: <TimeText at={page.started_at} show="exact" />
    </Link>
  );
}

function summaryOf({ picture, text, requests }: PageComparison): string {
  const parts = [
    picture.same
      ? 'the same picture'
      : `${countOf(picture.regions.length, 'part')} of the picture changed (${shareText(picture.changed_pixels)} of its pixels)`,
    text ? 'the text changed' : 'the same text',
    requestSummary(requests),
  ];
  const sentence = parts.join(', ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

function requestSummary({ added, removed, changed }: PageComparison['requests']): string {
  const parts = [
    [added.length, 'new'],
    [removed.length, 'gone'],
    [changed.length, 'with another answer'],
  ] as const;
  const some = parts.filter(([count]) => count > 0).map(([count, what]) => `${formatCount(count)} ${what}`);
  return some.length === 0 ? 'the same requests' : `requests: ${some.join(', ')}`;
}

interface ChangesProps {
  comparison: PageComparison;
  before: PageCapture;
  after: PageCapture;
}

/** The pictures, opened at the first change, with the words beside them. */
function Changes({ comparison: { picture, text }, before, after }: ChangesProps) {
  const [view, setView] = useState<CompareView>('sides');
  const [at, setAt] = useState(0);
  const { regions } = picture;
  const stepBy = (by: number) =>
    regions.length > 1 ? () => setAt((at + by + regions.length) % regions.length) : undefined;
  const next = stepBy(1);
  const previous = stepBy(-1);
  useShortcuts({ n: next, p: previous });
  return (
    <div className={classes.changes}>
      <Section title="Picture">
        <div className={`${classes.bar} cluster gap-3`}>
          <SegmentedControl
            size="xs"
            aria-label="How the pictures are shown"
            data={[
              { value: 'sides', label: 'Side by side' },
              { value: 'slider', label: 'Slider' },
            ]}
            value={view}
            onChange={(chosen) => setView(chosen as CompareView)}
          />
          {regions.length > 0 && (
            <>
              <Button.Group>
                <StepButton isUp label="Previous change" keys="p" onClick={previous} />
                <StepButton label="Next change" keys="n" onClick={next} />
              </Button.Group>
              <output className="small numeric">
                Change {at + 1} of {regions.length}
              </output>
            </>
          )}
          {picture.same && <span className="small muted">The pictures are the same, pixel for pixel.</span>}
          {!picture.same && regions.length === 0 && (
            <span className="small muted">Only the length of the page differs.</span>
          )}
        </div>
        <ComparedPictures
          view={view}
          before={before.id}
          after={after.id}
          regions={regions}
          current={regions[at]}
        />
      </Section>
      <Section title="Text">
        {text ? (
          <div className="stack gap-2">
            <DiffContent diff={text} />
          </div>
        ) : (
          <p className="muted">The text is the same.</p>
        )}
      </Section>
    </div>
  );
}

function ComparedRequests({ requests: { added, removed, changed } }: Pick<PageComparison, 'requests'>) {
  if (added.length + removed.length + changed.length === 0)
    return <p className="muted">The page made the same requests and got the same answers.</p>;
  return (
    <div className="stack gap-4">
      <RequestGroup title="Different answer" requests={changed.map(({ after }) => after)}>
        The rows show the newer answers.
      </RequestGroup>
      <RequestGroup title="New" requests={added} />
      <RequestGroup title="Gone" requests={removed} />
    </div>
  );
}

interface RequestGroupProps {
  title: string;
  requests: readonly PageRequest[];
  children?: ReactNode;
}

function RequestGroup({ title, requests, children }: RequestGroupProps) {
  if (requests.length === 0) return null;
  return (
    <div className="stack gap-2">
      <h3>
        {title} <span className="muted numeric">{formatCount(requests.length)}</span>
      </h3>
      <RequestRows caption={`Requests: ${title.toLowerCase()}`} requests={requests} />
      {children && <p className="small muted">{children}</p>}
    </div>
  );
}
