import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconBandage,
  IconBinaryTree2,
  IconBuildingBank,
  IconDownload,
  IconEye,
  IconEyeCheck,
  IconEyeOff,
  IconFileUpload,
  IconFlag,
  IconFlask2,
  IconHistory,
  IconKey,
  IconLock,
  IconLockOpen,
  IconMessage,
  IconNote,
  IconNoteOff,
  IconPackage,
  IconPhoto,
  IconRestore,
  IconStatusChange,
  IconTrash,
  IconWorldCog,
  IconWorldPlus,
  type TablerIcon,
} from '@tabler/icons-react';
import type { EntryType, LedgerEntry } from '../../../../../shared/ledger/ledger.ts';

interface EntryTypeDisplay {
  word: string;
  icon: TablerIcon;
}

/** The label of each type of entry. */
export const ENTRY_TYPES: Record<EntryType, EntryTypeDisplay> = {
  'node.created': { word: 'subject created', icon: IconBinaryTree2 },
  'study.created': { word: 'study created', icon: IconFlask2 },
  'study.status': { word: 'study status changed', icon: IconStatusChange },
  'pack.added': { word: 'pack added', icon: IconPackage },
  'pack.flagged': { word: 'pack flagged', icon: IconFlag },
  'comment.added': { word: 'comment added', icon: IconMessage },
  'source.added': { word: 'source added', icon: IconWorldPlus },
  'source.changed': { word: 'source changed', icon: IconWorldCog },
  'event.recorded': { word: 'event recorded', icon: IconHistory },
  'retrievals.recorded': { word: 'retrievals recorded', icon: IconDownload },
  'page.captured': { word: 'page captured', icon: IconPhoto },
  'page.handed_in': { word: 'page handed in', icon: IconFileUpload },
  'object.damaged': { word: 'object damaged', icon: IconAlertTriangle },
  'object.restored': { word: 'object restored', icon: IconBandage },
  'object.withheld': { word: 'object withheld', icon: IconEyeOff },
  'object.shown': { word: 'object shown again', icon: IconEye },
  'object.released': { word: 'object released', icon: IconTrash },
  'key.renewed': { word: 'key renewed', icon: IconKey },
  'key.certified': { word: 'key certified', icon: IconKey },
  'ledger.rolled_back': { word: 'ledger rolled back', icon: IconRestore },
  'peer.rewritten': { word: 'peer rewrote its ledger', icon: IconAlertOctagon },
  'finding.added': { word: 'finding added', icon: IconNote },
  'finding.withdrawn': { word: 'finding withdrawn', icon: IconNoteOff },
  'finding.sealed': { word: 'finding sealed', icon: IconLock },
  'finding.revealed': { word: 'finding revealed', icon: IconLockOpen },
  'observation.signed': { word: 'observation signed', icon: IconEyeCheck },
  'pack.deposited': { word: 'pack deposited', icon: IconBuildingBank },
};

/** The page of an entry's subject, if there is one. */
export function subjectUrl({ type, subject }: Pick<LedgerEntry, 'type' | 'subject'>): string | undefined {
  const id = /(?:^|[^a-z])((?:pk|st|so)_[0-9a-f]{20})/.exec(subject)?.[1];
  if (type === 'finding.sealed') return '/findings?state=sealed';
  if (type.startsWith('finding.')) return `/findings?state=all&q=${subject}`;
  if (id?.startsWith('pk_')) return `/packs/${id}`;
  if (id?.startsWith('st_')) return `/studies/${id}`;
  if (type === 'node.created') return `/nodes/${subject.split('/').map(encodeURIComponent).join('/')}`;
  if (type === 'event.recorded') {
    const event = /\d+$/.exec(subject)?.[0];
    if (event) return `/timeline/${event}`;
  }
  return id?.startsWith('so_') ? `/sources/${id}` : undefined;
}

/**
 * A short name for an entry's subject. An event has only its number; retrievals have the first and the last one; a peer
 * has the name in its key.
 */
export function subjectLabel({ type, subject }: Pick<LedgerEntry, 'type' | 'subject'>): string {
  if (type === 'event.recorded' && /^\d+$/.test(subject)) return `event ${subject}`;
  if (type === 'peer.rewritten') return subject.split('+', 1)[0] ?? subject;
  const [, first, last] = /^(\d+)-(\d+)$/.exec(subject) ?? [];
  if (type !== 'retrievals.recorded' || first === undefined) return subject;
  return first === last ? `retrieval ${first}` : `retrievals ${first} to ${last}`;
}
