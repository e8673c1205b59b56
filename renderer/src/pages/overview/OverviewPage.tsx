import { Alert, Button } from '@mantine/core';
import {
  IconAlertOctagon,
  IconCircle,
  IconCircleCheck,
  IconCopy,
  IconPackageImport,
  IconShieldCheck,
  IconWorldSearch,
  type TablerIcon,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import type { Peer } from '../../../../shared/node/peer.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { DamagedObjects, useFixity } from '../../components/content/Fixity.tsx';
import { TimestampQuestion, useTimestampQuestion } from '../../components/content/TimestampQuestion.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { SampleOffer } from '../../components/layout/Sample.tsx';
import { formatCount } from '../../format.ts';
import { useIsOwner, useSession } from '../../state/session.ts';
import { NodeHealth, REFRESH_MS } from './NodeHealth.tsx';
import classes from './Overview.module.css';
import { FailingSection, RecentEvents, RecentPacks } from './RecentActivity.tsx';

/** The node's health, its contents and its recent changes. */
export default function OverviewPage() {
  const isOwner = useIsOwner();
  const isSample = useSession(({ session }) => session?.sample === 'open');
  const since = useLastVisit();
  const isAsking = useTimestampQuestion();
  const packs = useCall('listPacks', { query: { limit: 1 } });
  const sources = useCall('listSources', { query: { limit: 1 } });
  const watched = useCall('listSources', { query: { limit: 1, paused: false } });
  const isNew = packs.data?.total === 0 && sources.data?.total === 0;
  return (
    <Page title="Overview">
      {isOwner && <ClockAlert />}
      {isOwner && <PeerAlerts />}
      {isOwner && packs.data && sources.data && (
        <GettingStarted hasPack={packs.data.total > 0} hasSource={sources.data.total > 0} />
      )}
      {isAsking && <TimestampQuestion />}
      {isOwner && !isSample && !!packs.data?.total && <CopyHint />}
      <NodeHealth watched={watched.data?.total} known={sources.data?.total ?? 0} />
      {!isNew && (
        <>
          <Counts />
          <div className={`${classes.columns} stack gap-6`}>
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

/** Shown while the clock of the machine is so far ahead that the node records nothing. */
function ClockAlert() {
  const { data } = useCall('readClock', {}, { refetchInterval: REFRESH_MS });
  const confirm = useSave('confirmClock', () => ({}));
  if (!data || data.ahead_seconds === 0) return null;
  return (
    <Alert
      color="red"
      icon={<IconAlertOctagon aria-hidden />}
      title="The clock jumped ahead: nothing is recorded"
      role="alert"
      mb="1.5rem"
    >
      <p className="mb-2">
        The clock of the node’s machine says <TimeText at={data.now} show="exact" />. If that is wrong,
        correct the clock. Recorded times never go back.
      </p>
      <Button size="xs" variant="default" loading={confirm.isPending} onClick={() => confirm.mutate()}>
        The time is right
      </Button>
      {confirm.error && <ErrorNote error={confirm.error} />}
    </Alert>
  );
}

/** Alerts about peers that rewrote their ledger or show another certificate. Nothing if there are none. */
export function PeerAlerts() {
  const answer = useCall('listPeers', { query: { limit: MAX_LIST_LIMIT } });
  return answer.data?.items.flatMap((peer) => {
    const title = titleOf(peer);
    return title ? <PeerAlert key={peer.id} peer={peer} title={title} /> : [];
  });
}

function titleOf({ name, state }: Peer): string | undefined {
  if (state === 'rewritten') return `${name} rewrote its ledger`;
  if (state === 'certificate_changed') return `${name} presents a different certificate`;
  return undefined;
}

function PeerAlert({ peer, title }: { peer: Peer; title: string }) {
  return (
    <Alert color="red" icon={<IconAlertOctagon aria-hidden />} title={title} role="alert" mb="1.5rem">
      {peer.last_error} <Link to={`/sharing/peers/${peer.id}`}>Open the peer</Link>
    </Alert>
  );
}

const DOORS: readonly { to: string; icon: TablerIcon; title: string; action: string; text: string }[] = [
  {
    to: '/assemble',
    icon: IconPackageImport,
    title: 'Publish',
    action: 'New pack',
    text: 'Add the files of a result, its authors and its outcome. The pack gets a fingerprint that anyone can verify.',
  },
  {
    to: '/sources?add=1',
    icon: IconWorldSearch,
    title: 'Watch',
    action: 'Watch a source',
    text: 'Enter the URL of a page or a file. It is fetched on a schedule, and every version is kept byte for byte.',
  },
  {
    to: '/verify',
    icon: IconShieldCheck,
    title: 'Verify',
    action: 'Verify files',
    text: 'Drop files that somebody gave you. They are compared with an archive or a list, and nothing is uploaded.',
  },
];

/** What a person can begin with in an empty archive. */
function Doors() {
  return (
    <>
      <section className="mb-6" aria-labelledby="doors">
        <h2 id="doors">Getting started</h2>
        <ul className={`${classes.doors} plain mt-3`}>
          {DOORS.map(({ to, icon: Icon, title, action, text }) => (
            <li key={to} className="card">
              <Icon size={28} stroke={1.5} aria-hidden />
              <h3>{title}</h3>
              <p className="muted">{text}</p>
              <Button component={Link} to={to}>
                {action}
              </Button>
            </li>
          ))}
        </ul>
      </section>
      <SampleOffer />
    </>
  );
}

export interface FirstStepsProps {
  hasPack: boolean;
  hasSource: boolean;
}

/** The first steps on a new node, until they are done. */
export function GettingStarted({ hasPack, hasSource }: FirstStepsProps) {
  if (hasPack && hasSource) return null;
  if (!hasPack && !hasSource) return <Doors />;
  return (
    <section className={`${classes.steps} mb-6`} aria-labelledby="first-steps">
      <h2 id="first-steps">Getting started</h2>
      <ol className="plain sheet">
        <Step
          isDone={hasPack}
          title="Publish your first pack"
          description="Add the files of a result, its authors and its outcome. The pack gets a fingerprint that anyone can verify."
          to="/assemble"
          action="New pack"
        />
        <Step
          isDone={hasSource}
          title="Watch your first source"
          description="Enter the URL of a page or a file. The node fetches it on a schedule and keeps every version byte for byte."
          to="/sources?add=1"
          action="Watch a source"
        />
      </ol>
    </section>
  );
}

interface StepProps {
  isDone: boolean;
  title: string;
  description: string;
  to: string;
  action: string;
}

function Step({ isDone, title, description, to, action }: StepProps) {
  const Icon = isDone ? IconCircleCheck : IconCircle;
  return (
    <li data-done={isDone || undefined}>
      <Icon size={22} stroke={1.6} aria-hidden />
      <div>
        <h3>
          {title}
          {isDone && <span className={classes.done}> done</span>}
        </h3>
        <p className="muted">{description}</p>
      </div>
      {!isDone && (
        <Button component={Link} to={to}>
          {action}
        </Button>
      )}
    </li>
  );
}

/** Reminds the owner to keep a second copy while there is none. */
export function CopyHint() {
  const copies = useCall('listCopies', { query: { limit: 1 } });
  if (copies.data?.total !== 0) return null;
  return (
    <section className={`${classes.steps} mb-6`} aria-label="Second copy">
      <ol className="plain sheet">
        <li>
          <IconCopy size={22} stroke={1.6} aria-hidden />
          <div>
            <h2 className={classes.hint}>Add a second copy</h2>
            <p className="muted">Keep a second copy on another disk or in a bucket.</p>
          </div>
          <Button component={Link} to="/settings#copies" variant="default">
            Add a copy
          </Button>
        </li>
      </ol>
    </section>
  );
}

/** The size of the archive, by kind. */
export function Counts() {
  const packs = useCall('listPacks', { query: { limit: 1 } });
  const studies = useCall('listStudies', { query: { limit: 1 } });
  const stats = useCall('readStats');
  const counts: [one: string, many: string, count: number | undefined, to?: string][] = [
    ['pack', 'packs', packs.data?.total, '/packs'],
    ['study', 'studies', studies.data?.total, '/studies'],
    ['source', 'sources', stats.data?.sources, '/sources'],
    ['observation', 'observations', stats.data?.observations],
    ['archived object', 'archived objects', stats.data?.archived_objects],
    ['event', 'events', stats.data?.events, '/timeline'],
  ];
  return (
    <section aria-label="Archive contents">
      <ul className={`${classes.counts} plain mt-5 mb-6`}>
        {counts.map(([one, many, count, to]) => (
          <li key={one}>
            <Counted to={to}>
              <strong className="numeric">{count === undefined ? '…' : formatCount(count)}</strong>{' '}
              <span>{count === 1 ? one : many}</span>
            </Counted>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Counted({ to, children }: { to: string | undefined; children: React.ReactNode }) {
  return to ? <Link to={to}>{children}</Link> : <span>{children}</span>;
}

const SHOWN = 5;

/** The objects that are damaged now. Renders nothing if there are none. */
export function DamageSection() {
  const isOwner = useIsOwner();
  const { fixity } = useFixity();
  if (!fixity || fixity.damaged_objects === 0) return null;
  return (
    <Section title="Damaged" actions={isOwner && <Link to="/settings#stored-bytes">How to repair</Link>}>
      <DamagedObjects fixity={fixity} limit={SHOWN} />
    </Section>
  );
}

/** When a window of this browser last left. */
const LEFT_AT = 'strongroom-left-at';
/** The value of `LEFT_AT` when this window opened. Later changes by this window are not a new visit. */
const CAME_AFTER = 'strongroom-came-after';

/** The end of the previous visit with this browser; undefined on the first visit. */
export function useLastVisit(): string | undefined {
  const [last] = useState(
    () => sessionStorage.getItem(CAME_AFTER) ?? localStorage.getItem(LEFT_AT) ?? undefined,
  );
  useEffect(() => {
    if (last !== undefined) sessionStorage.setItem(CAME_AFTER, last);
    const leave = () => localStorage.setItem(LEFT_AT, new Date().toISOString());
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, [last]);
  return last;
}
