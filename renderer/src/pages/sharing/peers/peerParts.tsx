import { Alert, Button, NumberInput, Switch } from '@mantine/core';
import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconCertificateOff,
  IconCircleCheck,
  IconKey,
  IconPlugConnectedX,
  type TablerIcon,
} from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Job } from '../../../../../shared/node/job.ts';
import {
  type MirrorRefusal,
  type MirrorRequest,
  type MirrorResult,
  mirrorResultSchema,
  type Peer,
  type PeerChange,
  type PeerState,
} from '../../../../../shared/node/peer.ts';
import { useReloadAfter, useSave } from '../../../api/useCall.ts';
import { HealthLine, TimeText } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../../components/forms/buttons.tsx';
import { countOf } from '../../../format.ts';
import { useFollowedJob } from '../../../state/jobs.ts';
import classes from '../SharingPage.module.css';

/** The state of a peer. A rewritten ledger and another certificate are shown as alerts. */
export function PeerStateNote({ peer }: { peer: Peer }) {
  const { label, Icon, health } = PEER_STATES[peer.state];
  if (peer.state === 'certificate_changed') return <OtherCertificate peer={peer} title={label} />;
  if (peer.state === 'rewritten')
    return (
      <Alert color="red" icon={<IconAlertOctagon aria-hidden />} title={label} role="alert">
        <p>{peer.last_error}</p>
        <a href={`/manage/peers/${peer.id}/evidence`} target="_blank" rel="noopener noreferrer">
          Both checkpoints, as evidence
        </a>
      </Alert>
    );
  return (
    <HealthLine health={health} icon={Icon}>
      {label}
      {peer.last_error && ` ${peer.last_error}`}
    </HealthLine>
  );
}

/** Shows both fingerprints, so that the owner can compare them before accepting the new certificate. */
function OtherCertificate({ peer, title }: { peer: Peer; title: string }) {
  const seen = peer.tls_fingerprint_seen ?? undefined;
  const accept = useSave('changePeer', () => ({
    params: { id: peer.id },
    body: { tls_fingerprint: seen },
  }));
  return (
    <Alert color="red" icon={<IconCertificateOff aria-hidden />} title={title} role="alert">
      <p>
        Nothing is read from this peer. Either its owner has a new certificate, or someone is intercepting the
        connection. Ask the owner for the fingerprint, and accept it only if it matches the new one.
      </p>
      <dl className="mt-3 mb-3 pairs">
        <dt>Pinned</dt>
        <dd className="mono">{peer.tls_fingerprint}</dd>
        <dt>New</dt>
        <dd className="mono">{seen}</dd>
      </dl>
      {accept.error && <ErrorNote error={accept.error} />}
      <Button variant="default" size="compact-sm" loading={accept.isPending} onClick={() => accept.mutate()}>
        Accept the new certificate
      </Button>
    </Alert>
  );
}

const SWITCHES = [
  { field: 'follow', label: 'Mirror again every hour' },
  { field: 'cosign', label: 'Cosign its checkpoints' },
  { field: 'ask_to_cosign', label: 'Ask it to cosign ours' },
] as const;

/** What this node and the peer do for each other. A change applies at once. */
export function PeerSwitches({ peer }: { peer: Peer }) {
  const change = useSave('changePeer', (body: PeerChange) => ({ params: { id: peer.id }, body }));
  const isOffered = (field: string) => field !== 'follow' || peer.mirrored_at !== null;
  return (
    <>
      <div className="cluster gap-5 stretch">
        {SWITCHES.filter(({ field }) => isOffered(field)).map(({ field, label }) => (
          <Switch
            key={field}
            label={label}
            aria-label={`${label}: ${peer.name}`}
            checked={change.isPending ? (change.variables[field] ?? peer[field]) : peer[field]}
            onChange={(event) => change.mutate({ [field]: event.currentTarget.checked })}
          />
        ))}
      </div>
      <FetchedForPeer peer={peer} isSaving={change.isPending} onChange={change.mutate} />
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}

/** How many addresses this node fetches for a peer in a day. It is saved when the field is left, or with Enter. */
function FetchedForPeer({
  peer: { name, observe_per_day },
  isSaving,
  onChange,
}: {
  peer: Peer;
  isSaving: boolean;
  onChange: (change: PeerChange) => void;
}) {
  const [typed, setTyped] = useState(String(observe_per_day));
  const save = () => {
    if (isSaving) return;
    const wanted = typed === '' ? 0 : Number(typed);
    setTyped(String(wanted));
    if (wanted !== observe_per_day) onChange({ observe_per_day: wanted });
  };
  return (
    <NumberInput
      label="Addresses to fetch for it per day"
      aria-label={`Addresses to fetch for it per day: ${name}`}
      description="When a page that it watches changes, it can ask this node to fetch the page too and to sign what came. 0: never."
      min={0}
      max={10_000}
      clampBehavior="strict"
      allowDecimal={false}
      allowNegative={false}
      w="min(100%, 32rem)"
      value={typed}
      readOnly={isSaving}
      onChange={(value) => setTyped(String(value))}
      onBlur={save}
      onKeyDown={(event) => event.key === 'Enter' && save()}
    />
  );
}

/** The key and the certificate of a peer, for the owner to compare. */
export function PinnedFacts({ peer }: { peer: Peer }) {
  return (
    <>
      <Pinned what="Key" text={peer.key} />
      {peer.tls_fingerprint && <Pinned what="Certificate (SHA-256)" text={peer.tls_fingerprint} />}
      <p className="muted small">
        Pinned <TimeText at={peer.pinned_at} />. Confirm {peer.tls_fingerprint ? 'both' : 'it'} with the
        node’s owner by phone or in person. Last mirrored:{' '}
        {peer.mirrored_at ? <TimeText at={peer.mirrored_at} /> : 'never'}.
      </p>
      <FollowedWithholdings {...peer.follows_withheld} />
      {peer.proposals > 0 && (
        <p className="small">
          <Link to={`/sharing/peers/${peer.id}`}>
            {countOf(peer.proposals, 'thing', 'things')} that it withholds or shows
          </Link>{' '}
          for you to decide: this archive has them from elsewhere, too.
        </p>
      )}
    </>
  );
}

/** What this node withholds because of the peer. */
function FollowedWithholdings({ withheld, released }: Peer['follows_withheld']) {
  if (withheld + released === 0) return null;
  const parts = [
    withheld > 0 && `${withheld} that it withholds`,
    released > 0 && `${released} whose bytes it gave up`,
  ].filter(Boolean);
  return <p className="small">Withheld here because of this peer: {parts.join(' and ')}.</p>;
}

function Pinned({ what, text }: { what: string; text: string }) {
  return (
    <p className={`${classes.key} wrap-anywhere line gap-2 small`}>
      <span>
        {what}: <span className="mono">{text}</span>
      </span>
      <CopyButton text={text} what={`the ${what.toLowerCase()}`} />
    </p>
  );
}

export interface Mirror {
  start: (request: MirrorRequest) => void;
  isBusy: boolean;
  /** Whether the state of the peer allows a mirror. */
  isAllowed: boolean;
  /** What the last mirror fetched, in words. */
  taken: string | undefined;
  /** Why the mirror ended early. */
  failure: string | undefined;
  /** Why no mirror was started. */
  error: Error | null;
}

/** Starts mirrors of a peer and follows them. The job tray shows the progress. */
export function useMirror(peer: Peer): Mirror {
  const mirror = useSave('mirrorPeer', (body: MirrorRequest) => ({ params: { id: peer.id }, body }));
  const job = useFollowedJob((mirror.data as Job | undefined)?.id);
  useReloadAfter(job, 'mirrorPeer');
  const result = mirrorResultSchema.safeParse(job?.result).data;
  return {
    start: (request) => mirror.mutate(request),
    isBusy: mirror.isPending || job?.state === 'running',
    isAllowed: !['rewritten', 'key_changed', 'certificate_changed'].includes(peer.state),
    taken: result && mirrorSentence(result),
    failure: job?.state === 'failed' ? (job.error ?? undefined) : undefined,
    error: mirror.error,
  };
}

/** What the last mirror fetched, or why it failed. */
export function MirrorOutcome({ mirror: { error, failure, taken } }: { mirror: Mirror }) {
  return (
    <>
      {error && <ErrorNote error={error} />}
      {failure && <p className="bad">{failure}</p>}
      {taken && (
        <p className="small">
          <output>{taken}</output>
        </p>
      )}
    </>
  );
}

interface PeerStateDisplay {
  label: string;
  Icon: TablerIcon;
  health: 'well' | 'bad';
}

/** The label and icon of each state of a peer. */
const PEER_STATES: Record<PeerState, PeerStateDisplay> = {
  ok: { label: 'Its ledger is verified.', Icon: IconCircleCheck, health: 'well' },
  unreachable: { label: 'Not reachable.', Icon: IconPlugConnectedX, health: 'bad' },
  failing: { label: 'This address is not a Strongroom node.', Icon: IconAlertTriangle, health: 'bad' },
  key_changed: { label: 'Key changed.', Icon: IconKey, health: 'bad' },
  certificate_changed: {
    label: 'The certificate of this peer changed',
    Icon: IconCertificateOff,
    health: 'bad',
  },
  rewritten: { label: 'This peer rewrote its ledger', Icon: IconAlertOctagon, health: 'bad' },
};

const REASONS: Record<MirrorRefusal, string> = {
  wrong_record: 'does not match its ledger',
  wrong_proof: 'not proven by its ledger',
  wrong_bytes: 'content does not match the record',
  missing_object: 'file not provided',
  missing_reference: 'depends on something that was refused',
  too_large: 'too large',
  timeout: 'too slow',
  no_room: 'no space left on this node',
  id_taken: 'its id is already used here',
  released: 'released on this node for good',
};

/** What a mirror fetched, in words. */
function mirrorSentence(result: MirrorResult): string {
  const { packs, events, objects, already_held, refused } = result;
  const taken = `${countOf(packs, 'pack', 'packs')}, ${countOf(events, 'event', 'events')} and ${countOf(objects, 'object', 'objects')} mirrored. ${already_held} already here.`;
  const told = [taken, ...toldSentences(result)].join(' ');
  if (refused.length === 0) return told;
  const reasons = refused.map(({ reason, count }) => `${count} (${REASONS[reason]})`).join(', ');
  return `${told} Refused: ${reasons}.`;
}

/** What the peer said of bytes and of packs, and what this node did. */
function* toldSentences({
  not_given = 0,
  withheld = 0,
  shown = 0,
  released = 0,
  proposed = 0,
  deposits = 0,
  sets_without_parts = 0,
  limits = [],
}: MirrorResult): Generator<string> {
  if (not_given > 0)
    yield `${countOf(not_given, 'object', 'objects')} did not come: the peer withholds or released the bytes.`;
  if (withheld > 0) yield `${withheld} now withheld here too, as the peer withholds them.`;
  if (shown > 0) yield `${shown} shown again.`;
  if (released > 0)
    yield `${released} withheld here, because the peer gave the bytes up. Release them if you agree.`;
  if (proposed > 0)
    yield `${proposed} that the peer withholds or shows, and this archive has from elsewhere, for you to decide.`;
  if (sets_without_parts > 0)
    yield `The parts of ${countOf(sets_without_parts, 'set', 'sets')} did not come: the peer withholds the list of them.`;
  yield* limits;
  if (deposits > 0)
    yield `${countOf(deposits, 'publication', 'publications')} of packs in repositories, with their DOIs.`;
}
