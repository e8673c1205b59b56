import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconCertificateOff,
  IconCircleCheck,
  IconKey,
  IconPlugConnectedX,
  type TablerIcon,
} from '@tabler/icons-react';
import type { MirrorRefusal, MirrorResult, PeerState } from '../../../../../shared/node/peer.ts';
import { countOf } from '../../../format/size.ts';

interface PeerStateDisplay {
  label: string;
  Icon: TablerIcon;
  health: 'well' | 'bad';
}

/** The label and icon of each state of a peer. */
export const PEER_STATES: Record<PeerState, PeerStateDisplay> = {
  ok: { label: 'Its ledger is verified.', Icon: IconCircleCheck, health: 'well' },
  unreachable: { label: 'Not reachable.', Icon: IconPlugConnectedX, health: 'bad' },
  failing: { label: 'It does not answer as a node does.', Icon: IconAlertTriangle, health: 'bad' },
  key_changed: { label: 'Another key.', Icon: IconKey, health: 'bad' },
  certificate_changed: {
    label: 'This peer shows another certificate',
    Icon: IconCertificateOff,
    health: 'bad',
  },
  rewritten: { label: 'This peer rewrote its ledger', Icon: IconAlertOctagon, health: 'bad' },
};

const REASONS: Record<MirrorRefusal, string> = {
  wrong_record: 'not what its ledger recorded',
  wrong_proof: 'not proven by its ledger',
  wrong_bytes: 'other bytes than recorded',
  missing_object: 'bytes not given',
  missing_reference: 'something that it needs was refused',
  too_large: 'too large',
  timeout: 'too slow',
  no_room: 'no space left here',
  id_taken: 'the id is taken here',
};

/** What a mirror took, in words. */
export function mirrorSentence({ packs, events, objects, already_held, refused }: MirrorResult): string {
  const taken = `${countOf(packs, 'pack', 'packs')}, ${countOf(events, 'event', 'events')} and ${countOf(objects, 'object', 'objects')} were taken. ${already_held} were held already.`;
  if (refused.length === 0) return taken;
  const reasons = refused.map(({ reason, count }) => `${count} (${REASONS[reason]})`).join(', ');
  return `${taken} Refused: ${reasons}.`;
}
