import {
  IconBinaryTree2,
  IconBook2,
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
import { Link, NavLink } from 'react-router';
import { useIsOwner, useMayContribute, useNeedsInvitation, useSession } from '../state/session.ts';
import { LookSwitch } from './LookSwitch.tsx';
import classes from './Navigation.module.css';

interface Place {
  to: string;
  word: string;
  icon: TablerIcon;
  /** Who is offered it. */
  for?: 'owner' | 'contributor';
}

const PLACES: { title: string; places: Place[] }[] = [
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

/** The way to every page, whose node this is and who is looking. */
export function Navigation({ inDrawer = false }: { inDrawer?: boolean }) {
  const session = useSession((state) => state.session);
  const owner = useIsOwner();
  const mayContribute = useMayContribute();
  const isOffered = (place: Place) =>
    place.for === undefined || (place.for === 'owner' ? owner : mayContribute);
  return (
    <nav className={classes.nav} aria-label="Main" data-in-drawer={inDrawer || undefined}>
      {!inDrawer && (
        <Link to="/" className={classes.wordmark}>
          Strongroom
        </Link>
      )}
      {session && (
        <p className={`${classes.node} mono`} title={session.node}>
          {session.node}
        </p>
      )}
      {PLACES.map(({ title, places }) => {
        const offered = places.filter(isOffered);
        if (offered.length === 0) return null;
        return (
          <div key={places[0]?.to} className={classes.group}>
            {title && <p className={classes.title}>{title}</p>}
            <ul>
              {offered.map(({ to, word, icon: Icon }) => (
                <li key={to}>
                  <NavLink to={to} end={to === '/'} className={classes.link}>
                    <Icon size={18} stroke={1.6} aria-hidden />
                    {word}
                  </NavLink>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      <div className={classes.foot}>
        {session && <WhoIsLooking owner={owner} />}
        <LookSwitch />
      </div>
    </nav>
  );
}

function WhoIsLooking({ owner }: { owner: boolean }) {
  const needsInvitation = useNeedsInvitation();
  if (owner) return <p className={classes.who}>Signed in as the owner</p>;
  if (needsInvitation) {
    return (
      <p className={classes.who}>
        You are visiting. <Link to="/sharing">Enter an invitation</Link> to contribute.
      </p>
    );
  }
  return (
    <p className={classes.who}>
      You are visiting. The owner signs in with the one-time link that the node printed when it started.
    </p>
  );
}
