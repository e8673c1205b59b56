import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { Alert } from '../../../../shared/alerts/alert.ts';
import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import classes from './AlertsPage.module.css';
import { Deliveries } from './Deliveries.tsx';
import { MailServer } from './MailServer.tsx';
import { OwnerOnly } from './OwnerOnly.tsx';
import { RuleDialog } from './RuleDialog.tsx';
import { RuleItem } from './RuleItem.tsx';
import { useSourceNames } from './useSourceNames.ts';

const SHOWN = 500;
const NEWEST = 5;

/** The rules that send alerts, what they sent, and the mail server. */
export default function AlertsPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const { data, error, refetch } = useCall('listAlerts', { query: { limit: SHOWN } }, { enabled: isOwner });
  const [search, setSearch] = useSearchParams();
  const watched = search.get('source') ?? undefined;
  const [edited, setEdited] = useState<Alert | 'new'>();
  const { nameOf, isLoaded } = useSourceNames(isOwner);
  const close = () => {
    setEdited(undefined);
    if (watched !== undefined) setSearch({}, { replace: true });
  };
  if (isKnown && !isOwner) {
    return (
      <Page title="Alerts">
        <OwnerOnly />
      </Page>
    );
  }
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setEdited('new')}>
      New alert
    </Button>
  );
  const opened = edited ?? (watched !== undefined && isLoaded ? 'new' : undefined);
  return (
    <Page title="Alerts" actions={data && data.items.length > 0 ? add : undefined}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data && <Rules alerts={data.items} add={add} nameOf={nameOf} onEdit={setEdited} />}
      {data && (
        <Section title="Deliveries" actions={<Link to="/alerts/deliveries">All deliveries</Link>}>
          <Deliveries query={{ limit: NEWEST }} none="Nothing was sent yet." />
        </Section>
      )}
      {data && (
        <Section title="Mail server">
          <MailServer />
        </Section>
      )}
      {opened && (
        <RuleDialog
          alert={opened === 'new' ? undefined : opened}
          source={opened === 'new' ? watched : undefined}
          nameOf={nameOf}
          onClose={close}
        />
      )}
    </Page>
  );
}

interface RulesProps {
  alerts: readonly Alert[];
  /** The button that adds a rule. */
  add: ReactNode;
  nameOf: (source: string) => string;
  onEdit: (alert: Alert) => void;
}

function Rules({ alerts, add, nameOf, onEdit }: RulesProps) {
  if (alerts.length === 0)
    return (
      <div className={classes.list}>
        <EmptyState title="No alerts yet" action={add}>
          A rule sends an e-mail, a webhook or a notification when a source changes or something goes wrong.
        </EmptyState>
      </div>
    );
  return (
    <ul className={`${classes.list} ${classes.rules}`} aria-label="Rules">
      {alerts.map((alert) => (
        <RuleItem key={alert.id} alert={alert} nameOf={nameOf} onEdit={() => onEdit(alert)} />
      ))}
    </ul>
  );
}
