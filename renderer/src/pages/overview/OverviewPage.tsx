import { useCall } from '../../api/useCall.ts';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { CopyHint } from './CopyHint.tsx';
import { Counts } from './Counts.tsx';
import { DamageSection } from './DamageSection.tsx';
import { FailingSection } from './FailingSection.tsx';
import { GettingStarted } from './GettingStarted.tsx';
import { useLastVisit } from './lastVisit.ts';
import { NodeHealth } from './NodeHealth.tsx';
import classes from './OverviewPage.module.css';
import { PeerAlerts } from './PeerAlerts.tsx';
import { RecentEvents, RecentPacks } from './RecentActivity.tsx';

/** The node's health, its contents and its recent changes. */
export default function OverviewPage() {
  const isOwner = useIsOwner();
  const since = useLastVisit();
  const packs = useCall('listPacks', { query: { limit: 1 } });
  const sources = useCall('listSources', { query: { limit: 1 } });
  const watched = useCall('listSources', { query: { limit: 1, paused: false } });
  const isNew = packs.data?.total === 0 && sources.data?.total === 0;
  return (
    <Page title="Overview">
      {isOwner && <PeerAlerts />}
      {isOwner && packs.data && sources.data && (
        <GettingStarted hasPack={packs.data.total > 0} hasSource={sources.data.total > 0} />
      )}
      {isOwner && !!packs.data?.total && <CopyHint />}
      <NodeHealth watched={watched.data?.total} known={sources.data?.total ?? 0} />
      {!isNew && (
        <>
          <Counts />
          <div className={classes.columns}>
            <div>
              <DamageSection />
              {!!watched.data?.total && <FailingSection />}
              <RecentEvents since={since} />
            </div>
            <div>
              <RecentPacks />
            </div>
          </div>
        </>
      )}
    </Page>
  );
}
