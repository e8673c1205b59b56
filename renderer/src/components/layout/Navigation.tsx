import {
  IconBell,
  IconBinaryTree2,
  IconBook2,
  IconBriefcase,
  IconChevronRight,
  IconEyeOff,
  IconFileSearch,
  IconFileUpload,
  IconFlask2,
  IconHelp,
  IconHistory,
  IconHome,
  IconNotes,
  IconPackage,
  IconPackageImport,
  IconSearch,
  IconSettings,
  IconShare,
  IconShieldCheck,
  IconWorldSearch,
  type TablerIcon,
} from '@tabler/icons-react';
import { Link, NavLink } from 'react-router';
import { SIDEBAR_GROUPS, type SidebarPage, type SidebarPath } from '../../../../shared/node/pages.ts';
import { formatCount } from '../../format.ts';
import { preloadPage } from '../../pages/pages.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { useSeenEvents } from '../../state/seenEvents.ts';
import { useIsOwner, useMayContribute, useNeedsInvitation, useSession } from '../../state/session.ts';
import classes from './layout.module.css';
import { openPalette } from './paletteKeys.ts';
import { ThemeSwitch } from './ThemeSwitch.tsx';

/** The main navigation, with the node's name and the visitor's role. */
export function Navigation({ inDrawer = false }: { inDrawer?: boolean }) {
  const session = useSession((state) => state.session);
  const owner = useIsOwner();
  const groups = useNavItems();
  const { closedGroups, setGroup } = useDisplaySettings();
  return (
    <nav className={classes.nav} aria-label="Main" data-in-drawer={inDrawer || undefined}>
      {!inDrawer && (
        <Link to="/" className={`${classes.home} quiet-link serif strong`}>
          Strongroom
        </Link>
      )}
      {session && (
        <p className={`${classes.node} cut muted tiny nowrap mono`} title={session.node}>
          {session.node}
        </p>
      )}
      <button type="button" className={`${classes.find} line gap-2 muted small`} onClick={openPalette}>
        <IconSearch size={16} aria-hidden />
        Search
        <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘' : 'Ctrl'} K</kbd>
      </button>
      {groups.map(({ title, items }) =>
        title ? (
          <details
            key={title}
            className="mt-3"
            open={!closedGroups.includes(title)}
            onToggle={({ currentTarget: { open } }) => setGroup(title, open)}
          >
            <summary className={`${classes.title} line gap-1 tiny strong muted`}>
              {title}
              <IconChevronRight size={14} aria-hidden />
            </summary>
            <NavLinks items={items} />
          </details>
        ) : (
          <div key="" className="mt-3">
            <NavLinks items={items} />
          </div>
        ),
      )}
      <div className={`${classes.foot} stack gap-3`}>
        {session && <VisitorNote owner={owner} />}
        <ThemeSwitch />
      </div>
    </nav>
  );
}

function NavLinks({ items }: { items: readonly NavItem[] }) {
  return (
    <ul className="plain">
      {items.map(({ to, label, icon: Icon }) => (
        <li key={to}>
          <NavLink
            to={to}
            end={to === '/'}
            className={`${classes.link} quiet-link line gap-3`}
            onPointerEnter={() => preloadPage(to)}
            onFocus={() => preloadPage(to)}
          >
            <Icon size={18} stroke={1.6} aria-hidden />
            {label}
            {to === '/timeline' && <UnseenCount />}
          </NavLink>
        </li>
      ))}
    </ul>
  );
}

function VisitorNote({ owner }: { owner: boolean }) {
  const needsInvitation = useNeedsInvitation();
  const mayContribute = useMayContribute();
  if (owner) return <p className="small muted">Signed in as owner</p>;
  if (needsInvitation) {
    return (
      <p className="small muted">
        You are a visitor. <Link to="/sharing">Enter an invitation</Link> to contribute.
      </p>
    );
  }
  if (mayContribute) return <p className="small muted">You are a visitor and may contribute.</p>;
  return (
    <p className="small muted">
      You are a visitor. The owner signs in with the one-time link that the node printed when it started.
    </p>
  );
}

/** The number of unseen events, without noise, next to the timeline in the navigation. */
function UnseenCount() {
  const unseen = useSeenEvents()?.marks.unseen ?? 0;
  if (unseen === 0) return null;
  return (
    <span className={`${classes.count} push accent tiny strong numeric`}>
      {formatCount(unseen)}
      <span className="visually-hidden"> unseen</span>
    </span>
  );
}

/** A page in the navigation and the palette. */
export interface NavItem extends SidebarPage {
  icon: TablerIcon;
}

interface NavGroup {
  title: string;
  items: NavItem[];
}

const ICONS: Readonly<Record<SidebarPath, TablerIcon>> = {
  '/': IconHome,
  '/packs': IconPackage,
  '/assemble': IconPackageImport,
  '/studies': IconFlask2,
  '/nodes': IconBinaryTree2,
  '/findings': IconNotes,
  '/cases': IconBriefcase,
  '/sources': IconWorldSearch,
  '/timeline': IconHistory,
  '/search': IconFileSearch,
  '/handed-in': IconFileUpload,
  '/alerts': IconBell,
  '/verify': IconShieldCheck,
  '/ledger': IconBook2,
  '/withheld': IconEyeOff,
  '/sharing': IconShare,
  '/settings': IconSettings,
  '/help': IconHelp,
};

export const NAV_GROUPS: NavGroup[] = SIDEBAR_GROUPS.map(({ title, pages }) => ({
  title,
  items: pages.map((page) => ({ ...page, icon: ICONS[page.to] })),
}));

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
