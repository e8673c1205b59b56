import {
  IconBinaryTree2,
  IconBook2,
  IconFileSearch,
  IconFlask2,
  IconHistory,
  IconHome,
  IconPackage,
  IconPackageImport,
  IconSettings,
  IconShare,
  IconWorldSearch,
  type TablerIcon,
} from '@tabler/icons-react';
import { useIsOwner, useMayContribute } from '../state/session.ts';

/** A page that the navigation and the palette lead to. */
export interface Place {
  to: string;
  word: string;
  icon: TablerIcon;
  /** Who is offered it; everybody where it is left out. */
  for?: 'owner' | 'contributor';
}

export interface PlaceGroup {
  title: string;
  places: Place[];
}

export const PLACES: PlaceGroup[] = [
  { title: '', places: [{ to: '/', word: 'Overview', icon: IconHome }] },
  {
    title: 'Archive',
    places: [
      { to: '/packs', word: 'Packs', icon: IconPackage },
      { to: '/assemble', word: 'Assemble a pack', icon: IconPackageImport, for: 'contributor' },
      { to: '/studies', word: 'Studies', icon: IconFlask2 },
      { to: '/nodes', word: 'Nodes', icon: IconBinaryTree2 },
    ],
  },
  {
    title: 'Collection',
    places: [
      { to: '/sources', word: 'Sources', icon: IconWorldSearch },
      { to: '/timeline', word: 'Timeline', icon: IconHistory },
      { to: '/search', word: 'Search the texts', icon: IconFileSearch },
    ],
  },
  { title: 'Proof', places: [{ to: '/ledger', word: 'Ledger', icon: IconBook2 }] },
  {
    title: '',
    places: [
      { to: '/sharing', word: 'Sharing', icon: IconShare, for: 'owner' },
      { to: '/settings', word: 'Settings', icon: IconSettings, for: 'owner' },
    ],
  },
];

/** The pages that whoever is looking is offered. */
export function usePlaces(): PlaceGroup[] {
  const owner = useIsOwner();
  const mayContribute = useMayContribute();
  const isOffered = (place: Place) =>
    place.for === undefined || (place.for === 'owner' ? owner : mayContribute);
  return PLACES.map(({ title, places }) => ({ title, places: places.filter(isOffered) })).filter(
    ({ places }) => places.length > 0,
  );
}
