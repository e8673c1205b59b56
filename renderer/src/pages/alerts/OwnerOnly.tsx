import { EmptyState } from '../../components/feedback/EmptyState.tsx';

/** What a visitor sees instead of the alerts. */
export function OwnerOnly() {
  return (
    <EmptyState title="Only the owner can see the alerts">
      You are a visitor. The owner signs in with the one-time link that the node printed when it started.
    </EmptyState>
  );
}
