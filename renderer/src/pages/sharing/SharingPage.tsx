import { Button, Group, Switch } from '@mantine/core';
import { IconEye, IconEyeOff, IconLock, IconPencilPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'react-router';
import { isPeerFragment } from '../../../../shared/node/peer.ts';
import type { SharingMode as Mode, Sharing, SharingMode } from '../../../../shared/node/settings.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { Facts } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { OpenModal } from '../../components/forms/DialogForm.tsx';
import { useUrlFilters } from '../../components/forms/filters.tsx';
import { type Choice, ChoiceCards } from '../../components/forms/pickers.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { countOf } from '../../format.ts';
import {
  useInvitationLink,
  useIsOwner,
  useMayContribute,
  useNeedsInvitation,
  useSession,
} from '../../state/session.ts';
import { EnterInvitation, Invitations, QrCode } from './Invitations.tsx';
import { Peers } from './peers/Peers.tsx';
import classes from './SharingPage.module.css';

/** Who can reach the node, at which addresses, and what they may do. */
export default function SharingPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const sharing = useCall('readSharing', {}, { enabled: isOwner });
  return (
    <Page title="Sharing" lead={isOwner && 'Let others on your network open this archive in their browser.'}>
      {isKnown && !isOwner && <AsVisitor />}
      {sharing.error && <ErrorNote error={sharing.error} onRetry={() => void sharing.refetch()} />}
      {sharing.data && (
        <>
          <AccessMode sharing={sharing.data} />
          <Addresses mode={sharing.data.mode} />
          <Encryption />
          <Invitations sharing={sharing.data} />
          <Permissions sharing={sharing.data} />
          <Peers mode={sharing.data.mode} />
        </>
      )}
    </Page>
  );
}

const MODES: readonly Choice<Mode>[] = [
  { value: 'off', label: 'Off', icon: IconLock, meaning: 'Only this machine can reach the node.' },
  {
    value: 'read',
    label: 'Read',
    icon: IconEye,
    meaning: 'Anyone on your network can read and verify everything, but cannot change anything.',
  },
  {
    value: 'contribute',
    label: 'Contribute',
    icon: IconPencilPlus,
    meaning:
      'Visitors can also add packs, studies, subjects, comments and flags, within the limits in the settings.',
  },
];

const SHARE = ['share'] as const;

/** The sharing mode. A change applies at once, but a node that is private asks first: `?share=read` asks too. */
export function AccessMode({ sharing }: { sharing: Sharing }) {
  const loadSession = useSession((state) => state.load);
  const set = useSave('setSharing', (next: Sharing) => ({ body: next }), {
    // Changes are sent one after another, so that the last one wins.
    scope: 'sharing',
    onSaved: loadSession,
  });
  // Shown optimistically and reverted if the node refuses the change.
  const shown = set.isPending ? set.variables : sharing;
  const { values: asked, set: ask } = useUrlFilters(SHARE);
  const next = asked.share === 'read' || asked.share === 'contribute' ? asked.share : undefined;
  // Turning contributions on requires an invitation, which the switch then ends.
  const setMode = (mode: Mode) =>
    set.mutate({ mode, require_invitation: mode === 'contribute' || shown.require_invitation });
  const choose = (mode: Mode) => {
    if (shown.mode === 'off' && mode !== 'off') ask({ share: mode });
    else setMode(mode);
  };
  return (
    <Section title="Access to this node">
      <ChoiceCards label="Access to this node" choices={MODES} value={shown.mode} onChange={choose} />
      {shown.mode === 'contribute' && (
        <Switch
          my="md"
          label="Require an invitation to contribute"
          description="Each contributor needs an invitation token, which you can revoke."
          checked={shown.require_invitation}
          onChange={(event) => set.mutate({ ...shown, require_invitation: event.currentTarget.checked })}
        />
      )}
      {set.error && <ErrorNote error={set.error} />}
      {next && shown.mode === 'off' && (
        <BeforeSharing
          mode={next}
          onShare={() => {
            ask({ share: '' });
            setMode(next);
          }}
          onClose={() => ask({ share: '' })}
        />
      )}
    </Section>
  );
}

/** Explains who can see and do what in the current sharing mode. */
export function Permissions({ sharing }: { sharing: Sharing }) {
  const isShared = sharing.mode !== 'off';
  const others = !isShared
    ? 'Nobody else can reach it.'
    : 'Anyone on your network who knows an address can read all packs, studies, comments, sources, events, archived objects and the ledger, without signing in. Visitors are not identified. The node stores only how much each address wrote, for one day.';
  return (
    <Section title="Permissions">
      <div className="measure">
        <Facts
          facts={{
            You: 'Full access. You are the owner in every signed-in browser and with your token.',
            Others: others,
            Contributions: isShared && contributions(sharing),
            'Owner only':
              'Settings, sharing and invitations, drafts, jobs, and adding, changing or checking sources. Nobody, including you, can change or remove anything in the archive.',
          }}
        />
      </div>
    </Section>
  );
}

function contributions({ mode, require_invitation }: Sharing): string {
  if (mode !== 'contribute') return 'Only you.';
  const who = require_invitation ? 'Anyone with an invitation' : 'Anyone who can reach the node';
  return `${who} can add packs, studies, subjects, comments and flags, and change a study’s status. The limits in the settings apply to each address and to all visitors together, but never to you.`;
}

/** What a visitor may do, and the form for an invitation if one is needed. */
export function AsVisitor() {
  const needsInvitation = useNeedsInvitation();
  const mayContribute = useMayContribute();
  const { state, error } = useInvitationLink();
  const { hash } = useLocation();
  if (state === 'sending') return <p className="muted">Accepting the invitation…</p>;
  if (isPeerFragment(hash)) return <LinkForNodes />;
  if (needsInvitation) return <EnterInvitation />;
  return (
    <>
      {state === 'failed' && <ErrorNote error={error} />}
      <EmptyState
        title={mayContribute ? 'You may contribute' : 'You may read'}
        action={
          mayContribute && (
            <Button component={Link} to="/assemble">
              Publish a pack
            </Button>
          )
        }
      >
        {mayContribute
          ? 'Packs, studies, subjects, comments and flags that you add are recorded in the ledger permanently.'
          : 'The owner shares this archive for reading. You can open every page and verify every byte.'}
        {state === 'accepted' && mayContribute && ' This browser keeps the invitation.'}
        {state === 'accepted' &&
          !mayContribute &&
          ' Your invitation is valid, but the owner does not accept contributions at the moment.'}
      </EmptyState>
    </>
  );
}

/** Shown when a browser opens the link that is meant for another node. */
function LinkForNodes() {
  return (
    <EmptyState
      title="This is a link for another node"
      action={<CopyButton text={window.location.href} what="the link" />}
    >
      Copy the address of this page. In your own Strongroom, open Sharing, choose “Add a peer” and paste it.
      Your node then checks that this one has the key in the link. In this browser you can read the archive
      without it.
    </EmptyState>
  );
}

/** Whether the node serves HTTPS, and the certificate by which others recognise it. A change applies at once. */
export function Encryption() {
  const settings = useCall('readSettings');
  const addresses = useCall('readAddresses');
  const set = useSave('changeSettings', (tls: boolean) => ({ body: { tls } }));
  const fingerprint = addresses.data?.tls_fingerprint;
  return (
    <Section title="Encryption">
      <Switch
        label="Serve HTTPS on the next port"
        description="Tokens and invitations are then refused over plain HTTP from other machines."
        checked={set.isPending ? set.variables : (settings.data?.tls ?? false)}
        disabled={!settings.data}
        onChange={(event) => set.mutate(event.currentTarget.checked)}
      />
      {fingerprint && (
        <p className={classes.certificate}>
          This node issues its own certificate, so each browser warns once. Compare the SHA-256 fingerprint
          with the one that the browser shows: <code className="wrap-anywhere">{fingerprint}</code>
        </p>
      )}
      {set.error && <ErrorNote error={set.error} />}
    </Section>
  );
}

/** Follows changes of the machine's network. */
const POLL_INTERVAL_MS = 15_000;

/** The addresses of this node for other devices, as text and QR code. */
export function Addresses({ mode }: { mode: SharingMode }) {
  const isShared = mode !== 'off';
  const answer = useCall('readAddresses', {}, { enabled: isShared, refetchInterval: POLL_INTERVAL_MS });
  const [chosen, choose] = useState<string>();
  const addresses = isShared ? (answer.data?.addresses ?? []) : [];
  const scanned = addresses.find(({ url }) => url === chosen) ?? addresses[0];
  return (
    <Section title="Addresses">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {!isShared && (
        <p className="muted">While sharing is off, this node cannot be reached from the network.</p>
      )}
      {isShared && answer.isSuccess && addresses.length === 0 && (
        <p className="muted">This machine is not connected to a network.</p>
      )}
      {scanned && (
        <div className={classes.addresses}>
          <ul className="grow plain ruled">
            {addresses.map(({ url, interface: name }) => (
              <li key={url} className="cluster gap-3">
                <button
                  type="button"
                  aria-pressed={url === scanned.url}
                  className={`${classes.address} mono`}
                  onClick={() => choose(url)}
                >
                  {url}
                </button>
                <span className="muted small">{name}</span>
                <CopyButton text={url} what="the address" />
              </li>
            ))}
          </ul>
          <QrCode
            text={scanned.url}
            label={`QR code of ${scanned.url}`}
            caption="Scan with a phone on the same network."
          />
        </div>
      )}
    </Section>
  );
}

interface BeforeSharingProps {
  mode: Exclude<SharingMode, 'off'>;
  onShare: () => void;
  onClose: () => void;
}

/** Says what visitors will see and what they will not, before a node that was private is shared. */
function BeforeSharing({ mode, onShare, onClose }: BeforeSharingProps) {
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
    <OpenModal onClose={onClose} title="Before you share: what visitors will see" size="xl">
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
    </OpenModal>
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
      <ul className="bullets stack gap-2 small">{children}</ul>
    </section>
  );
}
