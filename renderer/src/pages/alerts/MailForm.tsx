import { NumberInput, PasswordInput, SegmentedControl, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Smtp, type SmtpChange, smtpChangeSchema } from '../../../../shared/alerts/smtp.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import type { FormDialogControls } from '../../components/forms/FormDialog.tsx';
import classes from './AlertsPage.module.css';

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

function useMailForm(smtp: Smtp | null) {
  return useForm<Values>({
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
}

/** Sends the mail server to the node. */
function useSaveMail(onDone: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (values: Values) => call('changeSettings', { body: { smtp: requestOf(values) } }),
    onSuccess: (next) => {
      queries.setQueryData(callKey('readSettings', {}), next);
      onDone();
    },
  });
}

/** The form of the mail server. */
export function MailForm({ smtp, onDone, ...controls }: FormDialogControls & { smtp: Smtp | null }) {
  const form = useMailForm(smtp);
  const save = useSaveMail(onDone);
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
