import { Button, Group, Modal } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { SharingMode } from '../../../../shared/node/settings.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format.ts';
import classes from './SharingPage.module.css';

interface BeforeSharingProps {
  mode: Exclude<SharingMode, 'off'>;
  onShare: () => void;
  onClose: () => void;
}

/** Says what visitors will see and what they will not, before a node that was private is shared. */
export function BeforeSharing({ mode, onShare, onClose }: BeforeSharingProps) {
  const one = { query: { limit: 1 } };
  const packs = useCall('listPacks', one);
  const findings = useCall('listFindings', one);
  const withheld = useCall('listWithheld', one);
  const released = useCall('listReleased', one);
  const stats = useCall('readStats');
  const queries = [packs, findings, withheld, released, stats];
  const failed = queries.find(({ error }) => error);
  const number = (of: number | undefined, name: string, many?: string) =>
    of === undefined ? `… ${many ?? `${name}s`}` : countOf(of, name, many);
  return (
    <Modal opened onClose={onClose} title="Before you share: what visitors will see" size="xl">
      <div className="stack gap-4">
        <p className="measure">
          Anyone on your network who knows an address of this node can then open it in a browser, without
          signing in.
        </p>
        {failed && (
          <ErrorNote error={failed.error} onRetry={() => queries.forEach((query) => void query.refetch())} />
        )}
        <div className={classes.sides}>
          <Side title="Visitors will see" icon={<IconEye size={18} aria-hidden />}>
            <li>
              {number(packs.data?.total, 'pack')}: every record and every file; all studies, subjects and
              comments
            </li>
            <li>
              {number(stats.data?.sources, 'source')} and {number(stats.data?.events, 'event')}: what you
              watch, and when it changed
            </li>
            <li>
              {number(stats.data?.archived_objects, 'archived object')}: every version of every page, as it
              was received
            </li>
            <li>{number(findings.data?.total, 'finding')} of yours, and your cases</li>
            <li>The ledger, with everything that it records and when</li>
          </Side>
          <Side title="Visitors will not see" icon={<IconEyeOff size={18} aria-hidden />}>
            <li>
              The bytes of what you withhold:{' '}
              <Link to="/withheld">{number(withheld.data?.total, 'withholding')}</Link>
              {(released.data?.total ?? 0) > 0 && (
                <>
                  {' '}
                  and <Link to="/withheld?tab=released">{number(released.data?.total, 'release')}</Link>
                </>
              )}
              . The records, the digests and your reasons are public. A digest confirms a guess of short
              contents, such as a telephone number.
            </li>
            <li>Your drafts, and what you have marked as seen</li>
            <li>Settings, alerts, jobs, copies and invitations</li>
            <li>The values of request headers that you gave to sources</li>
            <li>Your token, keys and passwords</li>
          </Side>
        </div>
        <p className="small muted measure">
          Is there something that must not be shown? Open it, and turn on “Not shown to visitors” first.
        </p>
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={onShare}>
            {mode === 'read' ? 'Share for reading' : 'Share for contributions'}
          </Button>
        </Group>
      </div>
    </Modal>
  );
}

interface SideProps {
  title: string;
  icon: ReactNode;
  children: ReactNode;
}

function Side({ title, icon, children }: SideProps) {
  return (
    <section className="card stack gap-2" aria-label={title}>
      <h3 className="line gap-2">
        {icon}
        {title}
      </h3>
      <ul className={`${classes.seen} small`}>{children}</ul>
    </section>
  );
}
