import { Button, CloseButton, Drawer } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowLeft } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useId } from 'react';
import { Link, useRouteError } from 'react-router';
import { ApiProblem, NodeUnreachable } from '../../api/client.ts';
import { useSession } from '../../state/session.ts';
import { EmptyState, ErrorNote } from '../feedback/ErrorNote.tsx';
import classes from './layout.module.css';

/** Sets the window title to the page's name and the node's name. */
function usePageTitle(title: string): void {
  const node = useSession((state) => state.session?.node);
  useEffect(() => {
    document.title = [title, node, 'Strongroom'].filter(Boolean).join(' · ');
  }, [title, node]);
}

interface PageProps {
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
      <header className="mb-5 cluster gap-5 end between">
        <div className={`${classes.words} shrink`}>
          <h1>{title}</h1>
          {lead && <p className={`${classes.lead} mt-2 measure muted`}>{lead}</p>}
        </div>
        {actions && <div className="cluster stretch gap-2">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface SectionProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A section of a page with its own heading. */
export function Section({ title, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={`${classes.section} shrink`}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

interface ItemPageProps<Item> {
  query: UseQueryResult<Item>;
  /** What the page is about: `Pack`. */
  name: string;
  /** What does not match if there is no such item: `id`. */
  by?: string;
  /** The page with all items of this kind. */
  list: { to: string; label: string };
  /** Says more if there is no such item. */
  missing: ReactNode;
  children: (item: Item) => ReactNode;
}

/** The page of one item. While there is none to show, it says why. */
export function ItemPage<Item>({ query, name, by = 'id', list, missing, children }: ItemPageProps<Item>) {
  const { data, error, refetch } = query;
  if (!error) return data ? children(data) : <p className="muted">Loading…</p>;
  const isMissing = error instanceof ApiProblem && error.document.status === 404;
  return (
    <Page title={isMissing ? `${name} not found` : name}>
      {isMissing ? (
        <EmptyState
          title={`No ${name.toLowerCase()} has this ${by}`}
          action={
            <Button component={Link} to={list.to}>
              {list.label}
            </Button>
          }
        >
          {missing}
        </EmptyState>
      ) : (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

/** Shown in place of a page that failed to load or render. The rest of the interface keeps working. */
export function PageError() {
  const error = useRouteError();
  // Each browser words a failed module load differently, with a URL that helps no one.
  const isUnloaded = error instanceof TypeError && /module script|dynamically imported/i.test(error.message);
  return (
    <Page title="This page could not be loaded">
      <ErrorNote
        error={isUnloaded ? new NodeUnreachable(error) : error}
        onRetry={() => window.location.reload()}
      />
    </Page>
  );
}

/** From this width, a row opens next to the list. Below it, it opens above the list. */
const WIDE = '(min-width: 80em)';

export function useIsWide(): boolean {
  return useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
}

interface SplitViewProps {
  /** The accessible name of the pane. */
  label: string;
  /** Undefined if nothing is open. */
  pane: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A list with the open item next to it, or above it on a narrow screen. */
export function SplitView({ label, pane, onClose, children }: SplitViewProps) {
  const isWide = useIsWide();
  if (!isWide) {
    return (
      <>
        <div className="shrink">{children}</div>
        <Drawer
          opened={Boolean(pane)}
          onClose={onClose}
          position="right"
          size="min(100%, 40rem)"
          withCloseButton={false}
          attributes={{ content: { 'aria-label': label } }}
        >
          <Button
            variant="default"
            size="xs"
            leftSection={<IconArrowLeft size={16} aria-hidden />}
            onClick={onClose}
            className="mb-4"
          >
            Back
          </Button>
          {pane}
        </Drawer>
      </>
    );
  }
  return (
    <div className={classes.split} data-open={pane ? true : undefined}>
      <div className="shrink">{children}</div>
      {pane && (
        <aside className={`${classes.pane} sheet`} aria-label={label}>
          <CloseButton className={classes.close} aria-label="Close pane" onClick={onClose} />
          {pane}
        </aside>
      )}
    </div>
  );
}
