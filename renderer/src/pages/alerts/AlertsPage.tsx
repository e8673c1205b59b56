import { Badge, Button, Group, NumberInput, PasswordInput, SegmentedControl, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { Alert, Delivery } from '../../../../shared/alerts/alert.ts';
import { type Smtp, type SmtpChange, smtpChangeSchema } from '../../../../shared/alerts/smtp.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { fieldErrors } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton, RemoveItemButton } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, Question, useItemForm } from '../../components/forms/DialogForm.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import classes from './AlertsPage.module.css';
import { Deliveries, OwnerOnly } from './DeliveriesPage.tsx';
import { RuleDialog } from './RuleDialog.tsx';
import { ruleSentence, targetWords } from './rule.ts';

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
          <Deliveries query={{ limit: NEWEST }} none="Nothing has been sent yet." />
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
      <div className="mb-6">
        <EmptyState title="No alerts yet" action={add}>
          An alert sends an e-mail, a webhook request or a desktop notification when a source changes or
          something goes wrong.
        </EmptyState>
      </div>
    );
  return (
    <ul className="mb-6 plain stack gap-4" aria-label="Rules">
      {alerts.map((alert) => (
        <RuleItem key={alert.id} alert={alert} nameOf={nameOf} onEdit={() => onEdit(alert)} />
      ))}
    </ul>
  );
}

interface RuleItemProps {
  alert: Alert;
  nameOf: (source: string) => string;
  onEdit: () => void;
}

/** A rule: what it does in a sentence, and its buttons. */
function RuleItem({ alert, nameOf, onEdit }: RuleItemProps) {
  const { name, paused } = alert;
  const [isRemoving, removing] = useDisclosure();
  const { test, pause, remove } = useRuleWork(alert, removing.close);
  return (
    <li className="card stack gap-2">
      <h2 className="large cluster gap-3 wrap-anywhere">
        {name}
        {paused && (
          <Badge variant="default" className={classes.paused}>
            paused
          </Badge>
        )}
      </h2>
      <p className="wrap-anywhere">{ruleSentence(alert, nameOf)}</p>
      <Group gap="xs">
        <ItemButton label="Send a test" of={name} loading={test.isPending} onClick={() => test.mutate()} />
        <ItemButton label="Edit" of={name} onClick={onEdit} />
        <ItemButton
          label={paused ? 'Resume' : 'Pause'}
          of={name}
          loading={pause.isPending}
          onClick={() => pause.mutate()}
        />
        <RemoveItemButton of={name} onClick={removing.open} />
      </Group>
      {(test.error ?? pause.error) && <ErrorNote error={test.error ?? pause.error} />}
      <output aria-live="polite" className={`${classes.outcome} stack gap-1`}>
        {test.data?.deliveries.map((delivery) => (
          <TestOutcome key={delivery.id} delivery={delivery} />
        ))}
      </output>
      {isRemoving && (
        <Question title="Remove this alert?" answer="Remove alert" save={remove} onClose={removing.close}>
          “{name}” will no longer send anything. Past deliveries stay listed.
        </Question>
      )}
    </li>
  );
}

/** What the buttons of a rule do. */
function useRuleWork({ id, paused }: Alert, onRemoved: () => void) {
  const request = () => ({ params: { id } });
  const test = useSave('testAlert', request);
  const pause = useSave('changeAlert', () => ({ ...request(), body: { paused: !paused } }));
  const remove = useSave('removeAlert', request, { onSaved: onRemoved });
  return { test, pause, remove };
}

function TestOutcome({ delivery: { to, state, error } }: { delivery: Delivery }) {
  const what = targetWords(to);
  return (
    <span className="small wrap-anywhere" data-bad={state !== 'sent' || undefined}>
      {state === 'sent' ? `Sent: ${what}.` : `Not sent: ${what}. ${error ?? ''}`}
    </span>
  );
}

/** Returns a function that gives the name of a source. Only the first page of sources is known; others show their id. */
function useSourceNames(enabled: boolean): {
  nameOf: (id: string) => string;
  isLoaded: boolean;
} {
  const { data, isError } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } }, { enabled });
  const names = new Map(data?.items.map(({ id, name, url }) => [id, name || url]));
  return { nameOf: (id) => names.get(id) ?? id, isLoaded: data !== undefined || isError };
}

const TLS = { none: 'not encrypted', starttls: 'STARTTLS', tls: 'TLS' } as const;

/** The mail server, and its dialog. */
function MailServer() {
  const settings = useCall('readSettings');
  const [isOpen, dialog] = useDisclosure();
  const [isRemoving, removing] = useDisclosure();
  const smtp = settings.data?.smtp;
  const remove = useSave('changeSettings', () => ({ body: { smtp: null } }), { onSaved: removing.close });
  return (
    <div className="stack items-start gap-3">
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
      {smtp === null && <p className="muted">No mail server yet. E-mail alerts need an SMTP server.</p>}
      {smtp && (
        <p className="wrap-anywhere">
          {smtp.host}:{smtp.port}, {TLS[smtp.tls]}, {smtp.user ? `as ${smtp.user}` : 'no user name'}, from{' '}
          {smtp.from}.
        </p>
      )}
      {smtp !== undefined && (
        <Group gap="xs">
          <Button variant="default" onClick={dialog.open}>
            {smtp === null ? 'Set up mail server' : 'Change mail server'}
          </Button>
          {smtp && (
            <Button variant="subtle" color="red" onClick={removing.open}>
              Remove
            </Button>
          )}
        </Group>
      )}
      <FormDialog opened={isOpen} onClose={dialog.close} title="Mail server" size="md">
        <MailForm smtp={smtp ?? null} />
      </FormDialog>
      {isRemoving && (
        <Question
          title="Remove the mail server?"
          answer="Remove mail server"
          save={remove}
          onClose={removing.close}
        >
          Its password will be deleted. Waiting e-mails are kept for up to one day, in case you set up another
          server.
        </Question>
      )}
    </div>
  );
}

interface Values {
  host: string;
  port: number | string;
  tls: SmtpChange['tls'];
  user: string;
  password: string;
  from: string;
}

function requestOf({ host, port, tls, user, password, from }: Values): SmtpChange {
  return {
    host: host.trim(),
    port: Number(port),
    tls,
    from: from.trim(),
    ...(user.trim() && { user: user.trim() }),
    ...(password && { password }),
  };
}

/** The errors of a field of the request, by the field of the form. */
function mailErrors(error: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fieldErrors(error)).map(([field, message]) => [field.replace(/^smtp\./, ''), message]),
  );
}

/** The form of the mail server. */
function MailForm({ smtp }: { smtp: Smtp | null }) {
  const { form, save } = useItemForm<Values, 'changeSettings'>({
    route: 'changeSettings',
    initialValues: {
      host: smtp?.host ?? '',
      port: smtp?.port ?? 587,
      tls: smtp?.tls ?? 'starttls',
      user: smtp?.user ?? '',
      password: '',
      from: smtp?.from ?? '',
    },
    validate: (values) =>
      Object.fromEntries(
        (smtpChangeSchema.safeParse(requestOf(values)).error?.issues ?? []).map(({ path, message }) => [
          String(path[0]),
          message,
        ]),
      ),
    request: (values) => ({ body: { smtp: requestOf(values) } }),
    errorsOf: mailErrors,
  });
  return (
    <DialogForm form={form} save={save} submit="Save">
      <div className={`${classes.pair} stack gap-4`}>
        <TextInput
          label="Server"
          placeholder="mail.example.org"
          data-autofocus
          {...form.getInputProps('host')}
        />
        <NumberInput label="Port" hideControls allowDecimal={false} {...form.getInputProps('port')} />
      </div>
      <SegmentedControl
        aria-label="Encryption"
        data={[
          { value: 'starttls', label: 'STARTTLS' },
          { value: 'tls', label: 'TLS' },
          { value: 'none', label: 'None' },
        ]}
        {...form.getInputProps('tls')}
      />
      {form.values.tls === 'none' && form.values.user && (
        <p className="bad small">
          Without encryption, anyone on the network path can read the password. Use this only for a mail
          server on this machine.
        </p>
      )}
      <div className={`${classes.pair} stack gap-4`}>
        <TextInput
          label="User name"
          description="Leave empty to send without signing in."
          autoComplete="off"
          {...form.getInputProps('user')}
        />
        <PasswordInput
          label="Password"
          description={
            smtp?.has_password ? 'Leave empty to keep the saved password.' : 'Stored, and never shown again.'
          }
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
      </div>
      <TextInput label="From" placeholder="Archive <archive@example.org>" {...form.getInputProps('from')} />
    </DialogForm>
  );
}
