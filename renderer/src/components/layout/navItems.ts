import {
  IconBell,
  IconBinaryTree2,
  IconBook2,
  IconBriefcase,
  IconFileSearch,
  IconFlask2,
  IconHistory,
  IconHome,
  IconNotes,
  IconPackage,
  IconPackageImport,
  IconSettings,
  IconShare,
  IconShieldCheck,
  IconWorldSearch,
  type TablerIcon,
} from '@tabler/icons-react';
import { useIsOwner, useMayContribute } from '../../state/session.ts';

/** A page in the navigation and the palette. */
export interface NavItem {
  to: string;
  label: string;
  icon: TablerIcon;
  /** Who may see it; everyone if omitted. */
  for?: 'owner' | 'contributor';
}

export interface NavGroup {
  title: string;
  items: NavItem[];
}

export const NAV_GROUPS: NavGroup[] = [
  { title: '', items: [{ to: '/', label: 'Overview', icon: IconHome }] },
  {
    title: 'Archive',
    items: [
      { to: '/packs', label: 'Packs', icon: IconPackage },
      { to: '/assemble', label: 'New pack', icon: IconPackageImport, for: 'contributor' },
      { to: '/studies', label: 'Studies', icon: IconFlask2 },
      { to: '/nodes', label: 'Subjects', icon: IconBinaryTree2 },
      { to: '/findings', label: 'Findings', icon: IconNotes },
      { to: '/cases', label: 'Cases', icon: IconBriefcase },
    ],
  },
  {
    title: 'Collection',
    items: [
      { to: '/sources', label: 'Sources', icon: IconWorldSearch },
      { to: '/timeline', label: 'Timeline', icon: IconHistory },
      { to: '/search', label: 'Text search', icon: IconFileSearch },
      { to: '/alerts', label: 'Alerts', icon: IconBell, for: 'owner' },
    ],
  },
  {
    title: 'Verification',
    items: [
      { to: '/verify', label: 'Verify', icon: IconShieldCheck },
      { to: '/ledger', label: 'Ledger', icon: IconBook2 },
    ],
  },
  {
    title: '',
    items: [
      { to: '/sharing', label: 'Sharing', icon: IconShare, for: 'owner' },
      { to: '/settings', label: 'Settings', icon: IconSettings, for: 'owner' },
    ],
  },
];

/** The pages that the current visitor may see. */
export function useNavItems(): NavGroup[] {
  const owner = useIsOwner();
  const mayContribute = useMayContribute();
  const isOffered = (place: NavItem) =>
    place.for === undefined || (place.for === 'owner' ? owner : mayContribute);
  return NAV_GROUPS.map(({ title, items }) => ({ title, items: items.filter(isOffered) })).filter(
    ({ items }) => items.length > 0,
  );
}
