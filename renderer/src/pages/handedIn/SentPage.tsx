import { useEffect, useState } from 'react';
import { useLocation } from 'react-router';
import { HAND_IN_PATH } from '../../../../shared/node/pages.ts';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { HandInForm } from './HandInForm.tsx';
import { receivePage, type SaidOfPage, saidInFragment } from './handIn.ts';

/** The form for a page that the bookmark sends. The person looks at what came, and hands it in or not. */
export default function SentPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const { hash } = useLocation();
  useEffect(() => leaveOpener, []);
  const [said] = useState(() => saidInFragment(hash));
  // The address of a page may hold what must not stay in the history.
  useEffect(() => window.history.replaceState(window.history.state, '', window.location.pathname), []);
  if (isKnown && !isOwner)
    return (
      <Page title="Hand in a page">
        <EmptyState title="Only the owner can hand in pages">
          Sign in with the one-time link of the node, and click the bookmark again.
        </EmptyState>
      </Page>
    );
  return isOwner ? <Sent said={said} /> : <Page title="Hand in a page">{null}</Page>;
}

/** The next page is a new document, which the page that opened this one does not reach. */
function leaveOpener(): void {
  if (window.location.pathname !== HAND_IN_PATH) window.location.reload();
}

function Sent({ said }: { said: SaidOfPage | undefined }) {
  const [file, setFile] = useState<File>();
  useEffect(() => (said ? receivePage(said, setFile) : undefined), [said]);
  const host = said && new URL(said.url).host;
  return (
    <Page
      title="Hand in a page"
      lead={
        file && host
          ? `${host} sent this page. It is kept only if you hand it in.`
          : 'The page has not sent its text. Some pages cannot: save the page and drop it here.'
      }
    >
      <HandInForm
        key={file ? 'sent' : 'empty'}
        given={{ url: said?.url ?? '', quote: said?.quote ?? '', file: file ?? null }}
        // As a new document: see `leaveOpener`.
        open={(path) => window.location.assign(path)}
      />
    </Page>
  );
}
