import { type ReactNode, useEffect } from 'react';
import { useSession } from '../../state/session.ts';
import classes from './Page.module.css';

/** Sets the window title to the page's name and the node's name. */
function usePageTitle(title: string): void {
  const node = useSession((state) => state.session?.node);
  useEffect(() => {
    document.title = [title, node, 'Strongroom'].filter(Boolean).join(' · ');
  }, [title, node]);
}

export interface PageProps {
  title: string;
  /** One sentence below the title. */
  lead?: ReactNode;
  /** Buttons to the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: title, actions and content. */
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
