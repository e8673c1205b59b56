import { useCall } from '../../api/useCall.ts';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { Counts } from './Counts.tsx';
import { Damaged } from './Damaged.tsx';
import { Failing } from './Failing.tsx';
import { FirstSteps } from './FirstSteps.tsx';
import { LatestEvents, LatestPacks } from './Lately.tsx';
import { useLastVisit } from './lastVisit.ts';
import classes from './OverviewPage.module.css';
import { Wellness } from './Wellness.tsx';

/** The node's health, its contents and its recent changes. */
export default function OverviewPage() {
  const isOwner = useIsOwner();
  const since = useLastVisit();
  const packs = useCall('listPacks', { query: { limit: 1 } });
  const sources = useCall('listSources', { query: { limit: 1 } });
  const isFresh = packs.data?.total === 0 && sources.data?.total === 0;
  return (
    <Page title="Overview">
      {isOwner && packs.data && sources.data && (
        <FirstSteps hasPack={packs.data.total > 0} hasSource={sources.data.total > 0} />
      )}
      <Wellness hasSource={sources.data && sources.data.total > 0} />
      {!isFresh && (
        <>
          <Counts />
          <div className={classes.columns}>
            <div>
              <Damaged />
              {!!sources.data?.total && <Failing />}
              <LatestEvents since={since} />
            </div>
            <div>
              <LatestPacks />
            </div>
          </div>
        </>
      )}
    </Page>
  );
}
