import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { BrowserSettings } from './BrowserSettings.tsx';
import { Copies } from './Copies.tsx';
import { Sessions } from './Sessions.tsx';
import { SettingsForm } from './SettingsForm.tsx';
import { StoredBytes } from './StoredBytes.tsx';

/** The node's settings and the display settings of this browser. */
export default function SettingsPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const settings = useCall('readSettings', {}, { enabled: isOwner });
  return (
    <Page title="Settings">
      <BrowserSettings />
      {isKnown && !isOwner && (
        <EmptyState title="Only the owner can see the settings">
          You are a visitor. The owner signs in with the one-time link that the node printed when it started.
        </EmptyState>
      )}
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.data && <SettingsForm settings={settings.data} />}
      {settings.data && <StoredBytes />}
      {settings.data && <Copies />}
      {settings.data && <Sessions />}
    </Page>
  );
}
