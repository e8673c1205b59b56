import { Link } from 'react-router';
import type { ListedHandIn } from '../../../../shared/collection/handedIn.ts';
import { HANDED_IN_WORDS } from '../../../../shared/collection/observers.ts';
import { useCall } from '../../api/useCall.ts';
import { Pager, useUrlOffset } from '../../components/data/DataTable.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { formatBytes } from '../../format.ts';
import { HandInForm } from './HandInForm.tsx';
import { KIND_WORDS } from './handIn.ts';

const PAGE_SIZE = 30;

/** Hands in what the person's own browser showed, and lists what was handed in. */
export default function HandedInPage() {
  return (
    <Page
      title="Hand in a file"
      lead="What your own browser showed you, also behind a login: a page that you saved, a PDF or a picture. It is kept byte for byte, and marked as handed in by you."
    >
      <HandInForm />
      <Section title="Handed in">
        <HandInList />
      </Section>
    </Page>
  );
}

function HandInList() {
  const [offset, turn] = useUrlOffset();
  const list = useCall('listHandedIn', { query: { limit: PAGE_SIZE, offset } }, { keepPrevious: true });
  if (list.error) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <p className="muted">Loading…</p>;
  if (list.data.total === 0)
    return <EmptyState title="Nothing yet">What you hand in is listed here.</EmptyState>;
  return (
    <div className="stack gap-4">
      <ul className="plain stack gap-3" aria-label="Handed in, newest first">
        {list.data.items.map((item) => (
          <HandInItem key={item.id} item={item} />
        ))}
      </ul>
      <Pager what="files" total={list.data.total} limit={PAGE_SIZE} offset={offset} onOffset={turn} />
    </div>
  );
}

function HandInItem({ item }: { item: ListedHandIn }) {
  const { id, url, title, kind, file, seen_at, observer, withheld } = item;
  return (
    <li className="stack gap-1">
      <Link to={`/handed-in/${id}`} className="wrap-anywhere">
        {title ?? url}
      </Link>
      {title !== null && <span className="small muted wrap-anywhere">{url}</span>}
      <span className="cluster gap-4 small muted">
        <span>
          seen <TimeText at={seen_at} />
        </span>
        <span>
          {KIND_WORDS[kind]}, {formatBytes(file.bytes)}
        </span>
        <span>{withheld ? 'not shown to visitors' : 'shown to visitors'}</span>
        <span className="wrap-anywhere">
          {HANDED_IN_WORDS} ({observer.slice(observer.indexOf(':') + 1)})
        </span>
      </span>
    </li>
  );
}
