import {
  IconAlertTriangle,
  IconBandage,
  IconBinaryTree2,
  IconDownload,
  IconFlag,
  IconFlask2,
  IconHistory,
  IconMessage,
  IconPackage,
  IconStatusChange,
  IconWorldCog,
  IconWorldPlus,
  type TablerIcon,
} from '@tabler/icons-react';
import type { EntryType, LedgerEntry } from '../../../../shared/ledger.ts';

interface EntryLook {
  word: string;
  icon: TablerIcon;
}

/** What each type of entry says has happened. */
export const ENTRY_LOOKS: Record<EntryType, EntryLook> = {
  'node.created': { word: 'node created', icon: IconBinaryTree2 },
  'study.created': { word: 'study created', icon: IconFlask2 },
  'study.status': { word: 'study moved', icon: IconStatusChange },
  'pack.added': { word: 'pack added', icon: IconPackage },
  'pack.flagged': { word: 'pack flagged', icon: IconFlag },
  'comment.added': { word: 'comment added', icon: IconMessage },
  'source.added': { word: 'source added', icon: IconWorldPlus },
  'source.changed': { word: 'source changed', icon: IconWorldCog },
  'event.recorded': { word: 'event recorded', icon: IconHistory },
  'retrievals.recorded': { word: 'retrievals recorded', icon: IconDownload },
  'object.damaged': { word: 'object damaged', icon: IconAlertTriangle },
  'object.restored': { word: 'object restored', icon: IconBandage },
};

/** The page of what an entry records, where there is one. */
export function addressOfSubject({
  type,
  subject,
}: Pick<LedgerEntry, 'type' | 'subject'>): string | undefined {
  const id = /(?:^|[^a-z])((?:pk|st|so)_[0-9a-f]{20})/.exec(subject)?.[1];
  if (id?.startsWith('pk_')) return `/packs/${id}`;
  if (id?.startsWith('st_')) return `/studies/${id}`;
  if (type === 'node.created') return `/nodes/${subject.split('/').map(encodeURIComponent).join('/')}`;
  if (type === 'event.recorded') {
    const event = /\d+$/.exec(subject)?.[0];
    if (event) return `/timeline/${event}`;
  }
  return id?.startsWith('so_') ? `/sources/${id}` : undefined;
}

/** What an entry records, as a person would call it; an event is known by its number alone. */
export function wordsOfSubject({ type, subject }: Pick<LedgerEntry, 'type' | 'subject'>): string {
  return type === 'event.recorded' && /^\d+$/.test(subject) ? `event ${subject}` : subject;
}
