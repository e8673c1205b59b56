import { type ReactNode, useEffect } from 'react';
import { useSession } from '../../state/session.ts';
import classes from './Page.module.css';

/** Puts the page's name, then the node's, in the window's title. */
export function usePageTitle(title: string): void {
  const node = useSession((state) => state.session?.node);
  useEffect(() => {
    document.title = [title, node, 'Strongroom'].filter(Boolean).join(' · ');
  }, [title, node]);
}

export interface PageProps {
  title: string;
  /** One sentence beneath the title. */
  lead?: ReactNode;
  /** What can be done here, to the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** One page: its heading, what can be done, and its content. */
export function Page({ title, lead, actions, children }: PageProps) {
  usePageTitle(title);
  return (
    <>
      <header className={classes.head}>
        <div className={classes.words}>
          <h1>{title}</h1>
          {lead && <p className={classes.lead}>{lead}</p>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </>
  );
}
