import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FormDialog } from '../../components/forms/FormDialog.tsx';
import { RemoveDialog } from '../../components/forms/RemoveDialog.tsx';
import classes from './AlertsPage.module.css';
import { MailForm } from './MailForm.tsx';

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
