import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useNeedsInvitation, useSession } from '../../state/session.ts';
import { EnterInvitation } from '../sharing/EnterInvitation.tsx';

/** Shown to a visitor who may not publish: what is missing, and the form for an invitation if that is all. */
export function VisitorNotice() {
  const needsInvitation = useNeedsInvitation();
  const isShared = useSession((state) => state.session?.sharing !== 'off');
  return (
    <Page
      title="New pack"
      lead={
        needsInvitation && 'You can publish packs on this node as soon as you have entered an invitation.'
      }
    >
      {needsInvitation ? (
        <EnterInvitation />
      ) : (
        <EmptyState title="You cannot publish on this node">
          {isShared
            ? 'The owner shares this archive for reading. Ask the owner to open it for contributions.'
            : 'You are a visitor. The owner signs in with the one-time link that the node printed when it started.'}
        </EmptyState>
      )}
    </Page>
  );
}
