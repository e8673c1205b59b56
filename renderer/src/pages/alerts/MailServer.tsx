import { Button, Group, NumberInput, PasswordInput, SegmentedControl, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Smtp, type SmtpChange, smtpChangeSchema } from '../../../../shared/alerts/smtp.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { RemoveDialog } from '../../components/forms/RemoveDialog.tsx';
import classes from './AlertsPage.module.css';

const TLS = { none: 'not encrypted', starttls: 'STARTTLS', tls: 'TLS' } as const;

/** The mail server, and its dialog. */
export function MailServer() {
  const settings = useCall('readSettings');
  const [isOpen, dialog] = useDisclosure();
  const [isRemoving, removing] = useDisclosure();
  const queries = useQueryClient();
  const smtp = settings.data?.smtp;
  const remove = useMutation({
    mutationFn: () => call('changeSettings', { body: { smtp: null } }),
    onSuccess: (next) => {
      queries.setQueryData(callKey('readSettings', {}), next);
      removing.close();
    },
  });
  return (
    <div className={classes.server}>
      {settings.error && <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} />}
      {smtp === null && <p className="muted">E-mail needs a mail server (SMTP). No server is set yet.</p>}
      {smtp && (
        <p className="wrap-anywhere">
          {smtp.host}:{smtp.port}, {TLS[smtp.tls]}, {smtp.user ? `as ${smtp.user}` : 'without a user name'},
          from {smtp.from}.
        </p>
      )}
      {smtp !== undefined && (
        <Group gap="xs">
          <Button variant="default" onClick={dialog.open}>
            {smtp === null ? 'Set the mail server' : 'Change the mail server'}
          </Button>
          {smtp && (
            <Button variant="subtle" color="red" onClick={removing.open}>
              Remove
            </Button>
          )}
        </Group>
      )}
      <FormDialog opened={isOpen} onClose={dialog.close} title="Mail server" size="md">
        {(controls) => <MailForm {...controls} smtp={smtp ?? null} />}
      </FormDialog>
      {isRemoving && (
        <RemoveDialog
          title="Remove the mail server?"
          submit="Remove mail server"
          removal={remove}
          onClose={removing.close}
        >
          The password is deleted. E-mails wait for another server for up to a day.
        </RemoveDialog>
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

function MailForm({ smtp, onDone, ...controls }: FormDialogControls & { smtp: Smtp | null }) {
  const queries = useQueryClient();
  const form = useForm<Values>({
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
  });
  const save = useMutation({
    mutationFn: (values: Values) => call('changeSettings', { body: { smtp: requestOf(values) } }),
    onSuccess: (next) => {
      queries.setQueryData(callKey('readSettings', {}), next);
      onDone();
    },
  });
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Save">
      <div className={classes.pair}>
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
        <p className={`${classes.error} small`}>
          Without encryption, anyone on the network path can read the password. Use this only for a mail
          server on this machine.
        </p>
      )}
      <div className={classes.pair}>
        <TextInput
          label="User name"
          description="Empty: without signing in."
          autoComplete="off"
          {...form.getInputProps('user')}
        />
        <PasswordInput
          label="Password"
          description={smtp?.has_password ? 'Empty: the kept one.' : 'Kept, and never shown again.'}
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
      </div>
      <TextInput label="From" placeholder="Archive <archive@example.org>" {...form.getInputProps('from')} />
    </DialogForm>
  );
}
