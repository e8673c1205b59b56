import { spotlight } from '@mantine/spotlight';
import { IconSearch } from '@tabler/icons-react';
import { Link, NavLink } from 'react-router';
import { preloadPage } from '../../pages/pages.ts';
import { useIsOwner, useMayContribute, useNeedsInvitation, useSession } from '../../state/session.ts';
import classes from './Navigation.module.css';
import { useNavItems } from './navItems.ts';
import { ThemeSwitch } from './ThemeSwitch.tsx';
import { UnseenCount } from './UnseenCount.tsx';

/** The main navigation, with the node's name and the visitor's role. */
export function Navigation({ inDrawer = false }: { inDrawer?: boolean }) {
  const session = useSession((state) => state.session);
  const owner = useIsOwner();
  const groups = useNavItems();
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
      <button type="button" className={classes.find} onClick={spotlight.open}>
        <IconSearch size={16} aria-hidden />
        Search
        <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘' : 'Ctrl'} K</kbd>
      </button>
      {groups.map(({ title, items }) => (
        <div key={items[0]?.to} className={classes.group}>
          {title && <p className={classes.title}>{title}</p>}
          <ul>
            {items.map(({ to, label, icon: Icon }) => (
              <li key={to}>
                <NavLink
                  to={to}
                  end={to === '/'}
                  className={classes.link}
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
        </div>
      ))}
      <div className={classes.foot}>
        {session && <VisitorNote owner={owner} />}
        <ThemeSwitch />
      </div>
    </nav>
  );
}

function VisitorNote({ owner }: { owner: boolean }) {
  const needsInvitation = useNeedsInvitation();
  const mayContribute = useMayContribute();
  if (owner) return <p className={classes.who}>Signed in as owner</p>;
  if (needsInvitation) {
    return (
      <p className={classes.who}>
        You are a visitor. <Link to="/sharing">Enter an invitation</Link> to contribute.
      </p>
    );
  }
  if (mayContribute) return <p className={classes.who}>You are a visitor and may contribute.</p>;
  return (
    <p className={classes.who}>
      You are a visitor. The owner signs in with the one-time link that the node printed when it started.
    </p>
  );
}
