import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { BrowserSettings } from './BrowserSettings.tsx';
import { Sessions } from './Sessions.tsx';
import { SettingsForm } from './SettingsForm.tsx';
import { StoredBytes } from './StoredBytes.tsx';

/** What the owner can set: the node's limits, and how this browser shows things. */
export default function SettingsPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const settings = useCall('readSettings', {}, { enabled: isOwner });
  return (
    <Page title="Settings">
      <BrowserSettings />
      {isKnown && !isOwner && (
        <EmptyState title="The node’s settings are its owner’s">
          You are visiting. The owner signs in with the one-time link that the node printed when it started.
        </EmptyState>
      )}
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data && <SettingsForm settings={settings.data} />}
      {settings.data && <StoredBytes />}
      {settings.data && <Sessions />}
    </Page>
  );
}
